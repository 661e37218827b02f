"""Copies, order, graphs and memory of the device."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xgr.errors import OutOfMemory
from xgr.ops.dtype import DTYPES, float32, int32
from xgr.ops.spec import Problem
from xgr.runtime import Runtime


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_goes_there_and_back(rt: Runtime, name: str) -> None:
    host = np.arange(6).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name).reshape(2, 3)
    array: Any = rt.upload(host)
    fetched = rt.fetch(array)
    assert fetched.dtype == host.dtype
    assert fetched.tolist() == host.tolist()
    rt.write(array[:, 1:], host[::-1, 1:])
    assert rt.fetch(array).tolist() == [[0, 4, 5], [3, 1, 2]]


def test_writes_in_a_row_do_not_overtake_each_other(rt: Runtime) -> None:
    array = rt.empty((1 << 16,), int32)
    for value in range(50):
        rt.write(array, np.full(1 << 16, value, np.int32))
    assert set(rt.fetch(array).tolist()) == {49}


def test_a_writer_copies_what_its_host_values_were_at_the_call(rt: Runtime) -> None:
    """More writes than it has blocks are on their way behind a launch that takes its time."""
    target, host = rt.upload([-1] * 4096), np.zeros(4096, np.int32)
    copies: list[Any] = [rt.empty((4096,), int32) for _ in range(10)]
    write = rt.writer(target)
    stream = rt.stream()
    rt.synchronize()
    with stream:
        slow: Any = rt.empty((1 << 28,), int32)
        slow.zero_()
        for turn, copy in enumerate(copies):
            host[:] = turn
            write(host[: 4096 - turn])
            copy.copy_(target)
        host[:] = 99
    stream.synchronize()
    for turn, copy in enumerate(copies):
        got = rt.fetch(copy)
        assert (got[: 4096 - turn] == turn).all()
        assert got[4096 - turn :].tolist() == list(range(turn - 1, -1, -1))


def test_a_graph_launches_what_it_recorded_on_the_values_of_then(rt: Runtime) -> None:
    gate_up, out = rt.upload([[0.0, 0.0]], float32), rt.empty((1, 1), float32)
    bound = rt.bind("swiglu", Problem.of("swiglu", "float32", N=1, I=1))
    calls: list[int] = []

    def launch() -> None:
        calls.append(1)
        bound(gate_up=gate_up, out=out)

    graph = rt.capture(launch)
    assert calls == [], "nothing runs before the arrays are written"
    got = []
    for up in (1.0, 2.0, 3.0, 4.0):
        rt.write(gate_up, [[50.0, up]])
        graph.replay()
        got.append(rt.fetch(out).item())
    assert got == [50, 100, 150, 200]
    assert len(calls) == 2, "once by itself, once to be recorded"


def test_an_error_while_recording_is_the_error_that_is_seen(rt: Runtime) -> None:
    calls: list[int] = []

    def launch() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        rt.capture(launch).replay()
    array = rt.upload([1, 2, 3])
    assert rt.fetch(array).tolist() == [1, 2, 3]


def test_streams_wait_for_events(rt: Runtime) -> None:
    big = rt.empty((4096, 4096), float32)
    problem = Problem.of("linear", "float32", {"bias": False}, N=4096, I=4096, O=4096)
    bound, result = rt.bind("linear", problem), rt.empty((4096, 4096), float32)
    rt.write(big, np.eye(4096, dtype=np.float32))
    rt.synchronize()
    start, done = rt.event(), rt.event()
    with rt.stream() as first:
        start.record(first)
        for _ in range(5):
            bound(x=big, weight=big, out=result)
        done.record(first)
    with rt.stream() as second:
        second.wait(done)
        assert float(rt.fetch(result[4095:])[0, 4095]) == 1
    done.synchronize()
    assert done.elapsed_ms(start) > 0


def test_no_stream_is_handed_out_twice_while_it_is_held(rt: Runtime) -> None:
    """torch has 32: a lane may not get the one that another records on."""
    held = [rt.stream() for _ in range(3)]
    handles = {stream.torch.cuda_stream for stream in held}  # type: ignore[attr-defined]
    assert len(handles) == 3
    assert all(rt.stream().torch.cuda_stream not in handles for _ in range(100))  # type: ignore[attr-defined]


def test_generations_of_lanes_record_on_streams_of_their_own(rt: Runtime) -> None:
    """More of them than torch has streams, two at a time, as when an engine replaces another."""
    gate_up, out = rt.upload([[0.0, 0.0]], float32), rt.empty((1, 1), float32)
    bound = rt.bind("swiglu", Problem.of("swiglu", "float32", N=1, I=1))
    before: Any = None
    for generation in range(40):
        rt.write(gate_up, [[50.0, float(generation)]])
        with rt.stream() as lane:
            graph = rt.capture(lambda: bound(gate_up=gate_up, out=out))
            for _ in range(2):
                graph.replay()
            assert rt.fetch(out).item() == 50 * generation
        before = lane, graph
    assert before is not None


def test_memory_is_counted(rt: Runtime) -> None:
    before = rt.memory()
    held = rt.empty((1 << 20,), float32)
    after = rt.memory()
    assert after.used - before.used == 4 << 20
    assert 0 < after.free <= before.free
    del held
    assert rt.memory().used == before.used
    assert rt.memory().peak >= after.used


def test_the_device_says_what_it_is(rt: Runtime) -> None:
    assert rt.backend.arch.startswith("sm_")
    assert rt.backend.cores > 1
    assert type(rt.backend).probe().summary


def test_memory_that_cannot_be_had_is_said_and_harms_nothing(rt: Runtime) -> None:
    with pytest.raises(OutOfMemory, match=r"no room for an array of shape .* in float32"):
        rt.empty((1 << 45,), float32)
    assert rt.fetch(rt.upload([1, 2, 3])).tolist() == [1, 2, 3]

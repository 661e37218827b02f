"""The backend contract on npu:0: copies, order, graphs, memory, what the device says."""

from __future__ import annotations

from tests.ascend.device import need_torch_npu

need_torch_npu()

import gc  # noqa: E402
import threading  # noqa: E402
from typing import Any  # noqa: E402

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from tests.ascend.fake_cann.calls import order  # noqa: E402
from xgr.backends.ascend import device  # noqa: E402
from xgr.backends.ascend.backend import AscendBackend  # noqa: E402
from xgr.errors import InputError  # noqa: E402
from xgr.ops.dtype import DTYPES, float32, int32  # noqa: E402
from xgr.ops.spec import Problem  # noqa: E402
from xgr.runtime import Runtime, runtime  # noqa: E402


@pytest.fixture(scope="module")
def rt() -> Runtime:
    return runtime("npu")


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_goes_there_and_back(rt: Runtime, name: str) -> None:
    host = np.arange(6).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name).reshape(2, 3)
    array: Any = rt.upload(host)
    fetched = rt.fetch(array)
    assert fetched.dtype == host.dtype
    assert fetched.tolist() == host.tolist()
    assert rt.backend.dtype_of(array).name == name
    rt.write(array, host[::-1])
    assert rt.fetch(array[1]).tolist() == [0, 1, 2]


def test_values_and_shapes_that_do_not_fit_are_refused(rt: Runtime) -> None:
    array = rt.empty((2, 2), int32)
    with pytest.raises(InputError, match=r"cannot write shape \(2,\) into \(2, 2\)"):
        rt.write(array, [1, 2])
    with pytest.raises(InputError, match="host values are float64, the array holds int32"):
        rt.write(array, [[1.5, 2.0], [0.0, 1.0]])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_copies_are_ordered_with_launches(rt: Runtime, seed: int) -> None:
    gate_up, out = rt.empty((1, 2), float32), rt.empty((1, 1), float32)
    bound = rt.bind("swiglu", Problem.of("swiglu", "float32", N=1, I=1))
    with order(seed), rt.stream():
        waits = []
        for up in range(5):
            rt.write(gate_up, [[50.0, up]])
            bound(gate_up=gate_up, out=out)
            waits.append(rt.fetch_later([out]))
        assert [wait()[0].item() for wait in waits] == [0, 50, 100, 150, 200]


def test_a_graph_launches_what_it_recorded_on_the_values_of_then(rt: Runtime) -> None:
    gate_up, out = rt.upload([[0.0, 0.0]], float32), rt.empty((1, 1), float32)
    bound = rt.bind("swiglu", Problem.of("swiglu", "float32", N=1, I=1))
    calls: list[int] = []

    def launch() -> None:
        calls.append(1)
        bound(gate_up=gate_up, out=out)

    graph = rt.capture(launch)
    assert calls == [], "nothing runs before the arrays are written"
    rt.synchronize()
    got = []
    with rt.stream():
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

    graph = rt.capture(launch)
    graph.replay()
    with pytest.raises(KeyError, match="mine"):
        graph.replay()
    assert rt.fetch(rt.upload([1, 2, 3])).tolist() == [1, 2, 3]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_streams_wait_for_events(rt: Runtime, seed: int) -> None:
    gate_up, out = rt.upload([[50.0, 3.0]], float32), rt.upload([[0.0]], float32)
    bound = rt.bind("swiglu", Problem.of("swiglu", "float32", N=1, I=1))
    rt.synchronize()
    with order(seed):
        done, copy = rt.event(), rt.empty((1, 1), float32)
        with rt.stream() as first:
            bound(gate_up=gate_up, out=out)
            done.record(first)
        with rt.stream() as second:
            second.wait(done)
            copy.copy_(out)  # type: ignore[attr-defined]
            assert rt.fetch(copy).item() == 150
        done.synchronize()


def test_lanes_launch_side_by_side(rt: Runtime) -> None:
    """What a lane does in steady state is allowed while another one records."""
    lanes = [rt.lane() for _ in range(4)]
    bounds = [lane.bind("swiglu", Problem.of("swiglu", "float32", N=1, I=1)) for lane in lanes]
    arrays = [(lane.empty((1, 2), float32), lane.empty((1, 1), float32)) for lane in lanes]
    found: dict[int, Any] = {}

    def serve(number: int) -> None:
        lane, bound, (gate_up, out) = lanes[number], bounds[number], arrays[number]
        with lane.stream():
            graph = lane.capture(lambda: bound(gate_up=gate_up, out=out))
            for turn in range(4):
                lane.write(gate_up, [[50.0, float(number + turn)]])
                graph.replay()
            found[number] = lane.fetch_later([out])()[0].item()

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: 50 * (number + 3) for number in range(4)}


def test_no_stream_is_handed_out_twice_while_it_is_held(rt: Runtime) -> None:
    """torch_npu has some dozens: a lane may not get the one that another records on."""
    held = [rt.stream() for _ in range(3)]
    handles = {stream.torch.npu_stream for stream in held}  # type: ignore[attr-defined]
    assert len(handles) == 3
    assert all(rt.stream().torch.npu_stream not in handles for _ in range(100))  # type: ignore[attr-defined]


def test_memory_is_counted(rt: Runtime) -> None:
    gc.collect()
    before = rt.memory()
    held = rt.empty((1 << 20,), float32)
    after = rt.memory()
    assert after.used - before.used >= 4 << 20
    assert after.free > 0
    del held
    assert rt.memory().used == before.used
    assert rt.memory().peak >= after.used


def test_the_device_says_what_it_is(rt: Runtime) -> None:
    backend: Any = rt.backend
    assert backend.soc == device.current()
    assert (backend.cores, backend.arch) == (backend.soc.cube_cores, "dav_2201")
    assert backend.device.startswith("ascend910")
    probe = AscendBackend.probe()
    assert probe.available
    assert probe.summary.endswith("(experimental: compiled and emulated, never run on hardware)")

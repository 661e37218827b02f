"""Order on the fake device: streams run out of order unless events order them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.ascend.fake_cann.calls import logged, order
from tests.ascend.runtime.fake import NPU, on_npu

SEEDS = range(1, 21)


def handed_over(wait: bool) -> float:
    """A value that one stream writes and another one doubles."""
    first, second = NPU.Stream(), NPU.Stream()
    value, doubled = on_npu(torch.zeros(4), torch.zeros(4))
    source = on_npu(torch.full((4,), 3.0))
    NPU.synchronize()
    with NPU.stream(first):
        value.copy_(source)
    if wait:
        second.wait_stream(first)
    with NPU.stream(second):
        torch.add(value, value, out=doubled)
    NPU.synchronize()
    return float(doubled.cpu()[0])


def outcomes(run: Callable[[], float]) -> set[float]:
    found = set()
    for seed in SEEDS:
        with order(seed):
            found.add(run())
    return found


def test_an_event_orders_two_streams_whatever_the_order() -> None:
    assert outcomes(lambda: handed_over(wait=True)) == {6.0}


def test_a_missing_wait_shows_under_some_order() -> None:
    assert handed_over(wait=False) == 6.0, "the order of the launches hides it"
    assert outcomes(lambda: handed_over(wait=False)) == {0.0, 6.0}


def test_pinned_memory_is_read_when_the_copy_runs() -> None:
    host = torch.ones(4).pin_memory()
    device = on_npu(torch.zeros(4))
    stream = NPU.Stream()
    NPU.synchronize()
    with NPU.stream(stream):
        device.copy_(host, non_blocking=True)
    host.fill_(2)  # too early: nothing has waited for the copy
    stream.synchronize()
    assert device.cpu().tolist() == [2.0] * 4


def test_nothing_runs_before_the_host_waits() -> None:
    x = on_npu(torch.zeros(4))
    NPU.synchronize()
    with logged() as calls:
        x.add_(1)
    assert [launch.name for launch in calls.launches] == ["aclnnInplaceAdds"]
    assert calls.ran == []
    with logged() as calls:
        NPU.synchronize()
    assert calls.ran == ["aclnnInplaceAdds"]


def test_an_event_that_is_asked_about_happens_after_a_while() -> None:
    x = on_npu(torch.zeros(4))
    for _ in range(3):
        x.add_(1)
    event = NPU.Event(enable_timing=True)
    event.record()
    asked = 0
    while not event.query():
        asked += 1
        assert asked < 100
    assert x.cpu().tolist() == [3.0] * 4


def test_limits_of_a_stream_reach_its_calls() -> None:
    stream, x = NPU.Stream(), on_npu(torch.zeros(4))
    NPU.set_stream_limit(stream, cube_num=10, vector_num=20)
    assert NPU.get_stream_limit(stream) == {"cube_core_num": 10, "vector_core_num": 20}
    with logged() as calls:
        with NPU.stream(stream):
            x.add_(1)
        x.add_(1)
    limited, whole = calls.launches
    assert limited.cores == (10, 20)
    assert whole.cores == (24, 48)
    assert limited.stream != whole.stream


def test_a_limit_beyond_the_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="a limit of 25 cores, the device has 24"):
        NPU.set_stream_limit(NPU.Stream(), cube_num=25, vector_num=20)


def test_a_failed_launch_takes_the_device_down_and_every_stream_is_told_once() -> None:
    first, second = NPU.Stream(), NPU.Stream()
    x, at = on_npu(torch.zeros(4), torch.tensor([9], dtype=torch.int32))
    NPU.synchronize()
    with NPU.stream(first):
        x.index_select(0, at)
    with NPU.stream(second):
        x.add_(1)
        event = NPU.Event()
        event.record()
    for waits in (first.synchronize, second.synchronize):
        with pytest.raises(RuntimeError, match="507015"):
            waits()
    with pytest.raises(RuntimeError, match="index holds 9"):
        event.synchronize()
    second.synchronize()
    assert x.cpu().tolist() == [0.0] * 4, "what was queued is lost"
    assert (x + 1).cpu().tolist() == [1.0] * 4, "and later work runs"

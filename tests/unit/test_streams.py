"""Streams of a small pool: nobody gets another's, and what belongs to one goes with it."""

from __future__ import annotations

import itertools
import threading

import pytest

from xgr.backends.streams import PerStream, Streams

POOL = 4


class Pooled:
    """A new object for one of the device's few streams, as torch's are."""

    def __init__(self, handle: int, device: int = 0) -> None:
        self.handle, self.device = handle, device


def pool() -> Streams:
    turn = itertools.count()
    return Streams(lambda: Pooled(next(turn) % POOL), lambda stream: stream.handle)


def test_no_stream_is_handed_out_twice_while_it_is_held() -> None:
    streams = pool()
    held = [streams.fresh() for _ in range(POOL - 1)]
    handles = {stream.torch.handle for stream in held}
    assert len(handles) == POOL - 1
    assert all(streams.fresh().torch.handle not in handles for _ in range(3 * POOL))


def test_none_left_is_an_error_and_a_dropped_one_is_free_again() -> None:
    streams = pool()
    held = [streams.fresh() for _ in range(POOL)]
    with pytest.raises(RuntimeError, match=f"all {POOL} streams .* fewer lanes"):
        streams.fresh()
    free = held.pop(1).torch.handle
    assert streams.fresh().torch.handle == free


def test_threads_get_different_streams() -> None:
    streams, found = pool(), []
    ready = threading.Barrier(POOL)

    def take() -> None:
        ready.wait()
        found.append(streams.fresh())

    threads = [threading.Thread(target=take) for _ in range(POOL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(stream.torch.handle for stream in found) == list(range(POOL))


def test_a_stream_keeps_its_thing_and_the_next_one_takes_it_over() -> None:
    streams, made = pool(), itertools.count()
    things = PerStream(streams, lambda: next(made))
    first, second = streams.fresh(), streams.fresh()
    assert [things(first.torch), things(second.torch), things(first.torch)] == [0, 1, 0]
    handle = first.torch.handle
    assert things(Pooled(handle)) == 0  # torch makes a new object for the current stream
    del first
    third, fourth = streams.fresh(), streams.fresh()
    assert [things(third.torch), things(fourth.torch), things(second.torch)] == [0, 2, 1]


def test_streams_of_others_keep_their_things() -> None:
    """The default stream is nobody's to drop."""
    made = itertools.count()
    things = PerStream(pool(), lambda: next(made))
    assert [things(Pooled(77)), things(Pooled(78)), things(Pooled(77))] == [0, 1, 0]


def test_generations_of_lanes_do_not_use_up_the_pool() -> None:
    """A lane has a stream and records on another; both serve the next when it is gone."""
    streams = pool()
    sides = PerStream(streams, streams.fresh)
    for _ in range(3 * POOL):
        lane = streams.fresh()
        assert sides(lane.torch).torch.handle != lane.torch.handle
        del lane


def test_streams_that_were_held_go_out_before_others() -> None:
    """Libraries keep a workspace for each: engines one after the other make do with as many."""
    streams = pool()
    for _ in range(POOL):
        pair = [streams.fresh(), streams.fresh()]
        assert {one.torch.handle for one in pair} == {0, 1}
        del pair


def test_a_stream_of_another_device_is_not_handed_out() -> None:
    turn, device = itertools.count(), 0
    streams = Streams(lambda: Pooled(next(turn), device), lambda stream: stream.handle)
    first = streams.fresh().torch.handle
    device = 1
    other = streams.fresh()
    assert (other.torch.device, other.torch.handle != first) == (1, True)
    device = 0
    assert streams.fresh().torch.handle == first

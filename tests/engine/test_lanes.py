"""Lanes: what they share with the process, and what an interrupt, a fork or an error leaves."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import threadpoolctl

from tests.engine.world import World, beams
from xgr import Recommender
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.engine import Request
from xgr.engine.decode import Decode
from xgr.engine.engine import Batch, Engine
from xgr.errors import InputError

HISTORIES = [[at, (7 * at) % 40] for at in range(9)]


def blas() -> list[int]:
    return [
        lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"
    ]


def served(recommender: Recommender) -> list[Any]:
    return [beams(found) for found in recommender.recommend(HISTORIES, 9, 9)]


def assert_close(got: list[Any], want: list[Any]) -> None:
    assert [[sid for sid, _ in one] for one in got] == [[sid for sid, _ in one] for one in want]


def test_overlapping_recommenders_give_the_blas_threads_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first to begin ends before the second: limits are not nested."""
    monkeypatch.setattr(CpuBackend, "cores", 6)
    both = [world.recommender(lanes=2, max_requests=2) for _ in range(2)]
    for recommender in both:
        served(recommender)
    entered = [threading.Event(), threading.Event()]
    first_done = threading.Event()
    during: list[set[int]] = []

    def wait_for(at: int) -> Callable[[int], None]:
        def progress(_: int) -> None:
            during.append(set(blas()))
            entered[at].set()
            assert (entered[1] if at == 0 else first_done).wait(60)

        return progress

    def run(at: int) -> None:
        both[at].recommend(HISTORIES, 9, 9, progress=wait_for(at))
        if at == 0:
            first_done.set()

    before = blas()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        first = one.submit(run, 0)
        assert entered[0].wait(60)
        second = other.submit(run, 1)
        first.result(60)
        second.result(60)
        assert blas() == before
    assert during[0] == {3}  # 6 cores for 2 lanes
    assert {1} in during  # and for 4


FORK = """
import os, sys
from xgr import Recommender
made = Recommender.from_pretrained(sys.argv[1], sys.argv[2], lanes=2, max_requests=2)
users = [[at, (7 * at) % 40] for at in range(9)]
def ids():
    return [[item.item_id for item in found] for found in made.recommend(users, 9, 9)]
want = ids()
child = os.fork()
if child == 0:
    same = ids() == want and ids() == want
    os._exit(0 if same else 3)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert ids() == want
print("served")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_serves_and_so_does_its_parent(world: World) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(world.folder), str(world.index)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "served\n", done.stderr


def interrupt_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, after: int) -> None:
    """The `after`-th call of a method is interrupted at its end."""
    plain, calls = getattr(owner, name), [0]

    def called(self: Any, *given: Any) -> Any:
        result = plain(self, *given)
        calls[0] += 1
        if calls[0] == after:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize(
    ("owner", "name"), [(Decode, "_advance"), (Decode, "replay"), (Engine, "collect")]
)
@pytest.mark.parametrize("warm", [True, False])
def test_an_interrupt_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, lanes: int, owner: type, name: str, warm: bool
) -> None:
    recommender = world.recommender(lanes=lanes, max_requests=2)
    want = served(world.recommender(max_requests=2))
    before = blas()
    if warm:
        assert_close(served(recommender), want)
    with monkeypatch.context() as patched:
        interrupt_once(patched, owner, name, after=2)
        with pytest.raises(KeyboardInterrupt):
            served(recommender)
    assert recommender.lanes._free.qsize() == lanes
    assert recommender.store._version.pins == 0
    assert blas() == before
    assert_close(served(recommender), want)


def test_an_interrupted_filter_is_uploaded_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masks that were half written when the user pressed the keys hold for nobody."""
    recommender = world.recommender(filter_masks=2)
    low, odd = range(7), range(1, 40, 2)
    recommender.store.current.register_filter("low", allow=low)
    recommender.store.current.register_filter("odd", allow=odd)

    def ids(name: str) -> list[Any]:
        found = recommender.recommend([[3]], 40, 40, filters=[name])[0]
        return sorted(item.item_id for item in found)

    want = {"low": ids("low"), "odd": ids("odd")}
    assert want["low"] == list(low)
    recommender.store.current.register_filter("new", allow=[5])
    write = type(recommender.engine.rt).write

    def interrupted(rt: Any, target: Any, host: Any) -> None:
        write(rt, target, host)
        if getattr(host, "dtype", None) is not None and host.dtype.name == "uint32":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(recommender.engine.rt), "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ids("new")
    assert {name: ids(name) for name in want} == want
    assert ids("new") == [5]


def test_an_error_of_one_batch_ends_the_run_and_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommender = world.recommender(lanes=2, max_requests=1)
    want = served(recommender)
    collect, running = Engine.collect, []

    def failing(self: Engine, batch: Batch) -> Any:
        running.append(batch)
        if len(running) == 3:
            raise RuntimeError("of a third party")
        return collect(self, batch)

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "collect", failing)
        with pytest.raises(RuntimeError, match="third party"):
            served(recommender)
        count = len(running)
        assert recommender.lanes._free.qsize() == 2
        assert len(running) == count  # nothing of it goes on
    assert_close(served(recommender), want)


def test_batches_are_submitted_one_by_one(world: World) -> None:
    recommender = world.recommender(lanes=2, max_requests=2)
    want = served(recommender)
    with recommender.store.pin() as catalogue:
        prepared = [
            recommender.engine.prepare(Request(world.prompt(history), 9, 9), catalogue)
            for history in HISTORIES
        ]
        futures = [
            recommender.lanes.submit(prepared[at : at + 2], catalogue)
            for at in range(0, len(prepared), 2)
        ]
        got = [beams(found) for future in futures for found in future.result(60)]
        assert_close(got, want)
        with pytest.raises(InputError, match="3 requests make 2 batches"):
            recommender.lanes.submit(prepared[:3], catalogue)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_what_is_dropped_is_freed_at_once(world: World) -> None:
    """Graphs, buffers and workspaces in cycles would keep memory until Python collects."""
    recommender = world.recommender(max_requests=2, max_programs=4)
    found: list[weakref.ref[Any]] = []
    for histories in (HISTORIES[:1], HISTORIES[:2]):  # of other sizes: the first four are evicted
        recommender.recommend(histories, 9, 9)
        found += [weakref.ref(kept) for kept in recommender.engine._kept.values()]
    assert [one() is None for one in found] == [True] * 4 + [False] * 4
    found += [weakref.ref(recommender.engine), weakref.ref(recommender.engine.rt)]
    del recommender
    assert not any(one() for one in found)

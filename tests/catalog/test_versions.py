"""Swapping versions under readers, and freeing at the last use."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from xgr.catalog import Catalogue, CatalogueStore
from xgr.errors import CatalogueError


def numbered(number: int) -> Catalogue:
    """A catalogue whose every part says which version it is of."""
    return Catalogue.from_sids(
        [[number]] * (number + 1), [f"{number}/{i}" for i in range(number + 1)]
    )


def test_pins_keep_the_old_version_until_the_last_release() -> None:
    freed: list[Catalogue] = []
    old, new = numbered(1), numbered(2)
    store = CatalogueStore(old, on_free=freed.append)
    first, second = store.pin(), store.pin()
    assert store.swap(new) is new is store.current
    assert first.catalogue is old
    first.release()
    first.release()
    assert not freed
    with second as catalogue:
        assert catalogue is old
    assert freed == [old]
    with pytest.raises(RuntimeError, match="released"):
        _ = first.catalogue
    store.swap(old)
    assert freed == [old, new]


def test_a_bad_file_is_refused_whole_and_the_old_version_stays(tmp_path: Path) -> None:
    old = numbered(1)
    store = CatalogueStore(old)
    numbered(2).save(tmp_path / "c")
    (tmp_path / "c" / "item_start.bin").write_bytes(b"")
    with pytest.raises(CatalogueError, match="item_start"):
        store.swap(tmp_path / "c")
    assert store.current is old
    numbered(2).save(tmp_path / "d")
    assert store.swap(tmp_path / "d").version == numbered(2).version == store.current.version


def test_what_prepare_refuses_does_not_become_current() -> None:
    def at_most_two_items(catalogue: Catalogue) -> Catalogue:
        if catalogue.num_items > 2:
            raise CatalogueError("too many items")
        return catalogue.rebase([["<a_0>", "<a_1>", "<a_5>"]])

    old = numbered(0)
    store = CatalogueStore(old, prepare=at_most_two_items)
    with pytest.raises(CatalogueError, match="too many"):
        store.swap(numbered(5))
    assert store.current is old
    assert store.swap(numbered(1)).level_sizes == (3,)


def test_filters_hold_from_the_moment_of_the_swap() -> None:
    """Whether the model's tokens move the items or not, and whether the source is ready or not."""
    for tokens in (["<a_0>", "<a_1>", "<a_2>"], ["<a_2>", "<a_0>", "<a_1>"]):
        prepare = partial(Catalogue.rebase, labels_per_level=[tokens])
        store = CatalogueStore(prepare(Catalogue.from_sids([[0]])), prepare=prepare)
        raw = Catalogue.from_sids([[0], [1], [2]], ["x", "y", "z"])
        raw.register_filter("open", allow=["x", "z"])
        for source in (raw, raw.rebase([tokens])):
            current = store.swap(source)
            assert current is store.current
            passes = current.filter(named=["open"], exclude=["x"])
            found, _ = current.expand(range(3), 9, request_filter=passes)
            assert [current.item_id(int(at)) for at in found] == ["z"]
            assert current is source or source is raw


def test_a_catalogue_that_is_current_again_is_not_freed() -> None:
    freed: list[Catalogue] = []
    one, other = numbered(1), numbered(2)
    store = CatalogueStore(one, on_free=freed.append)
    store.swap(one)
    assert not freed
    pin = store.pin()
    store.swap(other)
    store.swap(one)
    assert freed == [other]
    pin.release()
    assert freed == [other]
    store.swap(other)
    assert freed == [other, one]


def test_readers_see_one_whole_version_while_versions_change() -> None:
    freed: list[Catalogue] = []
    store = CatalogueStore(numbered(0), on_free=freed.append)
    stop = threading.Event()
    faults: list[object] = []
    reads = [0] * 4

    def read(index: int) -> None:
        while not stop.is_set() or not reads[index]:
            with store.pin() as catalogue:
                number = catalogue.num_items - 1
                positions, _ = catalogue.expand([0], 99)
                names = [catalogue.item_id(int(at)) for at in positions]
                if names != [f"{number}/{i}" for i in range(number + 1)]:
                    faults.append(names)
                if any(catalogue is gone for gone in freed):
                    faults.append("used after it was freed")
            reads[index] += 1

    threads = [threading.Thread(target=read, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 60):
        store.swap(numbered(number))
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults
    assert [catalogue.num_items for catalogue in freed] != []
    assert sorted(catalogue.num_items for catalogue in freed) == list(range(1, 60))

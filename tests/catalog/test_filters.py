"""Filters against brute force over items, and expansion of leaves to items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.brute import SID, BruteTrie, examples, sid_rows
from xgr.catalog import Catalogue, NamedMask, RequestFilter
from xgr.errors import InputError


def nodes_left(catalogue: Catalogue, passes: RequestFilter, level: int) -> list[int]:
    """Nodes that a kernel would let through: lists and mask together."""
    every = np.arange(len(catalogue.levels[level]))
    listed = np.isin(every, passes.nodes[level])
    left = listed if passes.kind == "allow" else ~listed
    if passes.mask is not None:
        words = passes.mask.levels[level]
        left &= ((words[every >> 5] >> (every & 31).astype(np.uint32)) & 1).astype(bool)
    return [int(node) for node in every[left]]


@st.composite
def filtered(draw: st.DrawFn) -> tuple[list[SID], RequestFilter, Catalogue, set[int]]:
    sids = draw(sid_rows())
    some = st.sets(st.integers(0, len(sids) - 1))
    catalogue = Catalogue.from_sids(sids)
    exclude, allow = draw(some), draw(st.none() | some)
    alive = set(range(len(sids))) if allow is None else set(allow)
    named = []
    for name in draw(st.sets(st.sampled_from(["stock", "region", "tenant"]))):
        keep, drop = draw(st.none() | some), draw(st.none() | some)
        if keep is None and drop is None:
            keep = set()
        catalogue.register_filter(name, allow=keep, exclude=drop)
        alive &= (set(range(len(sids))) if keep is None else keep) - (drop or set())
        named.append(name)
    passes = catalogue.filter(exclude=list(exclude) * 2, allow=allow, named=named)
    return sids, passes, catalogue, alive - exclude


@examples
@given(filtered())
def test_a_node_lives_exactly_while_one_item_under_it_passes_everything(
    case: tuple[list[SID], RequestFilter, Catalogue, set[int]],
) -> None:
    sids, passes, catalogue, alive = case
    brute = BruteTrie(sids)
    for level in range(brute.depth):
        assert passes.nodes[level].dtype == np.int32
        assert np.all(np.diff(passes.nodes[level]) > 0)
        left = {brute.prefixes[level][node] for node in nodes_left(catalogue, passes, level)}
        assert left == brute.alive_prefixes(alive, level)
    positions = np.arange(len(sids))
    assert passes.alive(positions).tolist() == [item in alive for item in brute.order]


@examples
@given(filtered(), st.data())
def test_expand_gives_what_a_loop_gives(
    case: tuple[list[SID], RequestFilter, Catalogue, set[int]], data: st.DataObject
) -> None:
    sids, passes, catalogue, alive = case
    brute = BruteTrie(sids)
    leaves = data.draw(st.permutations(range(catalogue.num_sids)))
    k, per_sid = data.draw(st.integers(0, 50)), data.draw(st.none() | st.integers(1, 3))
    positions, beams = catalogue.expand(leaves, k, per_sid=per_sid, request_filter=passes)
    got = [(catalogue.item_id(int(p)), int(b)) for p, b in zip(positions, beams, strict=True)]
    assert got == brute.expand(leaves, k, per_sid, alive)


@pytest.mark.parametrize("per_sid", [None, 1, 3])
def test_expand_works_across_its_pieces(monkeypatch: pytest.MonkeyPatch, per_sid: int) -> None:
    monkeypatch.setattr("xgr.catalog.expand.PIECE", 4)
    sids = [(0,)] * 9 + [(1,)] * 2 + [(2,)] * 65
    catalogue, brute = Catalogue.from_sids(sids), BruteTrie(sids)
    excluded = {0, 1, 2, 3, 4, 10, 12, 13}
    passes = catalogue.filter(exclude=excluded)
    alive = set(range(len(sids))) - excluded
    for k in (1, 5, 76):
        positions, beams = catalogue.expand([2, 0, 1], k, per_sid=per_sid, request_filter=passes)
        got = [(catalogue.item_id(int(p)), int(b)) for p, b in zip(positions, beams, strict=True)]
        assert got == brute.expand([2, 0, 1], k, per_sid, alive)


def test_expand_without_a_filter_and_its_refusals() -> None:
    catalogue = Catalogue.from_sids([(0,), (1,), (1,)])
    positions, beams = catalogue.expand([1, 0], 9)
    assert (positions.tolist(), beams.tolist()) == ([1, 2, 0], [0, 0, 1])
    assert positions.dtype == beams.dtype == np.int64
    assert [len(part) for part in catalogue.expand([], 9)] == [0, 0]
    for k, per_sid in ((-1, None), (1, 0)):
        with pytest.raises(InputError, match="k >= 0 and per_sid >= 1"):
            catalogue.expand([0], k, per_sid=per_sid)


def test_kinds_and_the_absence_of_work() -> None:
    catalogue = Catalogue.from_sids([(0, 0), (0, 1), (1, 0), (1, 0)])
    stock = catalogue.register_filter("stock", exclude=[0])
    nothing = catalogue.filter()
    assert (nothing.kind, nothing.mask) == ("none", None)
    assert all(not len(nodes) for nodes in nothing.nodes)
    assert catalogue.filter(named=["stock"]).mask is stock
    both = catalogue.filter(named=["stock"], exclude=[1])
    assert (both.kind, both.mask is stock) == ("exclude", True)
    assert [nodes.tolist() for nodes in both.nodes] == [[0], [1]]
    # One of two items of a SID: no node dies, the item is dropped from the result.
    half = catalogue.filter(exclude=[2])
    assert [nodes.tolist() for nodes in half.nodes] == [[], []]
    assert half.alive([2, 3]).tolist() == [False, True]
    only = catalogue.filter(allow=[3, 0], exclude=[0], named="stock")
    assert (only.kind, only.mask) == ("allow", None)
    assert [nodes.tolist() for nodes in only.nodes] == [[1], [2]]


def test_excluded_items_that_a_mask_has_dropped_already_do_not_count_twice() -> None:
    catalogue = Catalogue.from_sids([(0,), (0,), (0,), (1,)])
    catalogue.register_filter("stock", exclude=[0])
    passes = catalogue.filter(exclude=[0, 1, 2], named=["stock"])
    assert [nodes.tolist() for nodes in passes.nodes] == [[0]]
    passes = catalogue.filter(exclude=[0, 1], named=["stock"])
    assert [nodes.tolist() for nodes in passes.nodes] == [[]]


def test_a_filter_may_empty_the_catalogue() -> None:
    catalogue = Catalogue.from_sids([(0, 0), (0, 1), (1, 0)])
    catalogue.register_filter("closed", allow=[])
    for passes in (
        catalogue.filter(exclude=[0, 1, 2]),
        catalogue.filter(allow=[]),
        catalogue.filter(named=["closed"]),
        catalogue.filter(named=["closed"], exclude=[1]),
    ):
        assert [nodes_left(catalogue, passes, level) for level in range(2)] == [[], []]
        assert len(catalogue.expand([0, 1, 2], 9, request_filter=passes)[0]) == 0


def test_mask_words_have_one_bit_a_node() -> None:
    catalogue = Catalogue.from_sids([(code,) for code in range(70)])
    mask = catalogue.register_filter("even", allow=range(0, 70, 2))
    assert [words.dtype for words in mask.levels] == [np.uint32]
    assert mask.levels[0].tolist() == [0x55555555, 0x55555555, 0x15]
    assert mask.num_alive == 35


def test_conjunctions_are_built_once_and_follow_new_registrations() -> None:
    catalogue = Catalogue.from_sids([(code,) for code in range(8)])
    catalogue.register_filter("low", allow=range(4))
    catalogue.register_filter("odd", allow=[1, 3, 5, 7])

    def joined(*names: str) -> NamedMask:
        mask = catalogue.filter(named=names).mask
        assert mask is not None
        return mask

    first = joined("low", "odd")
    assert first is joined("odd", "low", "low")
    assert first.levels[0].tolist() == [0b1010]
    catalogue.register_filter("low", allow=range(2))
    assert joined("low", "odd").levels[0].tolist() == [0b10]
    assert first.levels[0].tolist() == [0b1010]


def test_unknown_items_and_filters_are_named() -> None:
    catalogue = Catalogue.from_sids([(0,), (1,)])
    catalogue.register_filter("stock", allow=[0])
    for arguments in ({"exclude": [5]}, {"allow": [5]}):
        with pytest.raises(InputError, match="not in the catalogue: item 5"):
            catalogue.filter(**arguments)  # type: ignore[arg-type]  # one key at a time
        catalogue.filter(**arguments, unknown="skip")  # type: ignore[arg-type]  # as above
    with pytest.raises(InputError, match="unknown filter 'region'; registered filters: stock"):
        catalogue.filter(named=["region"])
    with pytest.raises(InputError, match="needs allow= or exclude="):
        catalogue.register_filter("empty")
    with pytest.raises(InputError, match="item 9"):
        catalogue.register_filter("wrong", exclude=[9])

"""The trie against a dict trie, and its edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.brute import SID, BruteTrie, as_array, examples, sid_rows
from xgr.catalog import Catalogue
from xgr.catalog.arrays import Sinks
from xgr.catalog.build import build_trie
from xgr.catalog.order import lexicographic_order
from xgr.errors import CatalogueError, InputError


@examples
@given(sid_rows())
def test_nodes_children_and_leaves_are_those_of_a_dict_trie(sids: list[SID]) -> None:
    brute, catalogue = BruteTrie(sids), Catalogue.from_sids(sids)
    assert (catalogue.num_items, catalogue.num_sids) == (len(sids), len(brute.leaves))
    assert catalogue.codes(range(catalogue.num_sids)).tolist() == [list(x) for x in brute.leaves]
    for depth, level in enumerate(catalogue.levels):
        prefixes = brute.prefixes[depth]
        assert level.code.tolist() == [prefix[-1] for prefix in prefixes]
        for node, prefix in enumerate(prefixes):
            under = range(level.leaf_lo[node], level.leaf_hi[node])
            assert [brute.leaves[leaf] for leaf in under] == [
                leaf for leaf in brute.leaves if leaf[: depth + 1] == prefix
            ]
            if level.first_child is not None:
                kids = range(level.first_child[node], level.first_child[node + 1])
                assert [brute.prefixes[depth + 1][kid] for kid in kids] == [
                    kid for kid in brute.prefixes[depth + 1] if kid[: depth + 1] == prefix
                ]
        assert (level.first_child is None) == (depth == catalogue.depth - 1)


@examples
@given(sid_rows())
def test_items_lie_by_sid_and_then_in_the_order_of_their_rows(sids: list[SID]) -> None:
    brute, catalogue = BruteTrie(sids), Catalogue.from_sids(sids)
    assert [catalogue.item_id(at) for at in range(len(sids))] == brute.order
    for item, sid in enumerate(sids):
        at = catalogue.position(item)
        assert catalogue.item_id(at) == item
        leaf = catalogue.leaf_of(at)
        assert brute.leaves[leaf] == sid
        assert at in catalogue.item_positions(leaf)


@examples
@given(sid_rows(), st.data())
def test_find_believes_no_node_that_is_not_the_rows_own(
    sids: list[SID], data: st.DataObject
) -> None:
    catalogue = Catalogue.from_sids(sids)
    depth, count = catalogue.depth, catalogue.num_sids
    leaf, code = st.integers(0, count - 1), st.integers(-2, 8)
    node = st.integers(-2, count + 2) | st.sampled_from([2**31, -(2**40)])
    codes, nodes = [], []
    for at in data.draw(st.lists(leaf, min_size=1, max_size=8)):
        row = catalogue.codes([at])[0].tolist()
        path = [int(catalogue.trie.nodes_of(level, np.asarray([at]))[0]) for level in range(depth)]
        for spoilt, values in ((row, code), (path, node)):
            if data.draw(st.booleans()):
                spoilt[data.draw(st.integers(0, depth - 1))] = data.draw(values)
        codes.append(row)
        nodes.append(path)
    want = catalogue.find(codes)
    assert catalogue.find(codes, nodes).tolist() == want.tolist()
    other = [[0] * depth] * len(codes)
    assert catalogue.find(codes, other).tolist() == want.tolist()


def test_nodes_that_are_right_are_not_searched_for() -> None:
    catalogue = Catalogue.from_sids([(0, 1), (2, 0), (2, 3)])
    codes, nodes = [(2, 3), (0, 1)], [(1, 2), (0, 0)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(catalogue.trie), "find", lambda *_: pytest.fail("searched"))
        assert catalogue.find(codes, nodes).tolist() == [2, 0]
    with pytest.raises(InputError, match=r"nodes are \[1, 2\]; \[2, 2\] expected"):
        catalogue.find(codes, nodes[:1])


@examples
@given(sid_rows(), st.data())
def test_find_gives_the_leaf_or_minus_one(sids: list[SID], data: st.DataObject) -> None:
    brute, catalogue = BruteTrie(sids), Catalogue.from_sids(sids)
    code = st.integers(-2, 8) | st.sampled_from([2**31, -(2**40), 2**62])
    row = st.tuples(*([code] * brute.depth)) | st.sampled_from(brute.leaves)
    asked = data.draw(st.lists(row, max_size=12))
    found = catalogue.find(np.asarray(asked, dtype=np.int64).reshape(len(asked), brute.depth))
    assert found.dtype == np.int64
    expected = [brute.leaves.index(x) if x in brute.items else -1 for x in asked]
    assert found.tolist() == expected
    assert [catalogue.trie.find_one(codes) for codes in asked] == expected


@examples
@given(sid_rows(), st.integers(1, 9))
def test_the_build_does_not_depend_on_its_block_size(sids: list[SID], block: int) -> None:
    rows, sizes = as_array(sids), tuple(int(size) + 1 for size in as_array(sids).max(axis=0))
    whole, blocks = Sinks(), Sinks()
    build_trie(rows, sizes, whole)
    build_trie(rows, sizes, blocks, block)
    assert whole.digests == blocks.digests


@examples
@given(st.integers(1, 4), st.integers(0, 10_000), st.sampled_from([2, 1 << 17, 2**31 - 1]))
def test_order_is_stable_and_lexicographic_for_wide_codes(depth: int, seed: int, high: int) -> None:
    # 3 x 31 bits do not fit one 64-bit word, and 2^17 first codes no 16-bit one.
    rows = np.random.default_rng(seed).integers(0, high, (64, depth), dtype=np.int64)
    rows = np.concatenate([rows, rows[::3], rows[::-5]])
    order = lexicographic_order(rows, (high,) * depth, block=16)
    assert order.tolist() == sorted(range(len(rows)), key=lambda i: (*rows[i], i))


def test_rows_out_of_order_lose_no_item() -> None:
    catalogue = Catalogue.from_sids([(2, 1), (0, 5), (1, 0), (0, 5), (0, 2)], list("abcde"))
    assert [catalogue.item_id(at) for at in range(5)] == ["e", "b", "d", "c", "a"]
    assert catalogue.item_start.tolist() == [0, 1, 3, 4, 5]


def test_sixty_five_items_on_one_sid_keep_their_order() -> None:
    ids = [f"item-{number}" for number in np.random.default_rng(1).permutation(65)]
    catalogue = Catalogue.from_sids([(3, 3, 3)] * 65, ids)
    assert (catalogue.num_sids, [len(level) for level in catalogue.levels]) == (1, [1, 1, 1])
    assert [catalogue.item_id(at) for at in catalogue.item_positions(0)] == ids


def test_chains_and_levels_of_one_code() -> None:
    catalogue = Catalogue.from_sids([(0, 4, 0, 1), (1, 2, 0, 0), (1, 2, 0, 3)])
    assert catalogue.level_sizes == (2, 5, 1, 4)
    assert [level.code.tolist() for level in catalogue.levels] == [
        [0, 1],
        [4, 2],
        [0, 0],
        [1, 0, 3],
    ]
    assert [catalogue.levels[depth].leaf_hi.tolist() for depth in range(4)] == [
        [1, 3],
        [1, 3],
        [1, 3],
        [1, 2, 3],
    ]


def test_array_types_are_the_stated_ones() -> None:
    catalogue = Catalogue.from_sids(np.asarray([[0, 1, 0], [0, 1, 1]], dtype=np.uint16))
    for level in catalogue.levels:
        assert level.code.dtype == level.leaf_lo.dtype == level.leaf_hi.dtype == np.int32
    assert catalogue.item_start.dtype == np.int32
    assert catalogue.codes([1]).dtype == np.int32


@pytest.mark.parametrize(
    ("sids", "reason"),
    [
        ([[0, 1], [2, -1]], "row 1: code -1 of level 1 is negative"),
        ([[0, 1], [2**31, 0]], r"row 1: code 2147483648 of level 0 is out of range"),
        (np.asarray([[0], [2**64 - 1]], dtype=np.uint64), "row 1: code 18446744073709551615"),
        ([[0, 1], [2]], "row 1 has 1 codes and row 0 has 2"),
        ([[0.0, 1.0]], "float64, not integers"),
        ([[True, False]], "bool, not integers"),
        ([0, 1], r"shape \(2,\)"),
        (np.zeros((2, 2, 2), dtype=np.int32), r"shape \(2, 2, 2\)"),
        ([], "empty"),
        (np.zeros((0, 3), dtype=np.int32), "empty"),
        (np.zeros((3, 0), dtype=np.int32), "empty"),
        (np.zeros((1, 17), dtype=np.int32), "17 levels; 1 to 16"),
        (np.asarray([[1, "a"]], dtype=object), "Python objects"),
    ],
)
def test_wrong_codes_are_refused_with_the_row_and_the_reason(sids: object, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        Catalogue.from_sids(sids)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"item_ids": [1, 1]}, "row 1: item id 1 was given before, in row 0"),
        ({"item_ids": [7, "7"]}, "row 1: item id 7 was given before"),
        ({"item_ids": ["a", "a"]}, "row 1: item id 'a' was given before"),
        ({"item_ids": ["a"]}, "1 item ids for 2 SIDs"),
        ({"item_ids": ["a", None]}, "row 1: item id None is a NoneType"),
        ({"item_ids": ["a", True]}, "row 1: item id True is a bool"),
        ({"item_ids": ["a", ""]}, "row 1: the item id is empty"),
        ({"level_sizes": [1, 5]}, "row 1: code 1 of level 0 is out of range; the level has 1"),
        ({"level_sizes": [5]}, "1 levels are described, but SIDs have 2"),
        ({"labels": [["<a_0>", "<a_1>"], []]}, "level 1 has no labels"),
        ({"labels": [["<a_0>", "<a_0>"], ["<b_0>"]]}, "label '<a_0>' twice"),
        ({"labels": [["<a_0>", 1], ["<b_0>"]]}, "all strings or all integers"),
        ({"titles": ["one"]}, "1 titles for 2 SIDs"),
    ],
)
def test_wrong_items_and_labels_are_refused(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        Catalogue.from_sids([[0, 0], [1, 0]], **arguments)  # type: ignore[arg-type]  # on purpose


def test_lookups_out_of_range_are_refused() -> None:
    catalogue = Catalogue.from_sids([[0, 0], [1, 0]])
    for position in (-1, 2):
        with pytest.raises(InputError, match=f"position {position}"):
            catalogue.item_id(position)
    for leaf in (-1, 2):
        with pytest.raises(InputError, match=f"leaf {leaf}"):
            catalogue.codes([leaf])
        with pytest.raises(InputError, match=f"leaf {leaf}"):
            catalogue.item_positions(leaf)
    for codes in ([[0, 0, 0]], [0, 0], [[0.5, 0.5]]):
        with pytest.raises(InputError, match=r"\[M, 2\] expected"):
            catalogue.find(codes)

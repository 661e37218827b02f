"""Codes renumbered into a tokenizer's labels."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.brute import SID, examples, sid_rows
from xgr.catalog import Catalogue
from xgr.catalog.labels import natural_order
from xgr.errors import CatalogueError, InputError


def tokens(level: int, numbers: list[int]) -> list[str]:
    return [f"<{'abcde'[level]}_{number}>" for number in numbers]


def sids_and_items(catalogue: Catalogue) -> list[tuple[tuple[str | int, ...], list[str | int]]]:
    out = []
    for leaf, codes in enumerate(catalogue.codes(range(catalogue.num_sids))):
        sid = tuple(catalogue.labels[level][code] for level, code in enumerate(codes))
        items = [catalogue.item_id(at) for at in catalogue.item_positions(leaf)]
        out.append((sid, items))
    return sorted(out, key=lambda entry: str(entry[0]))


@examples
@given(sid_rows(), st.randoms(use_true_random=False), st.booleans())
def test_rebase_keeps_every_sid_and_its_items(
    sids: list[SID], random: Random, shuffle: bool
) -> None:
    depth = len(sids[0])
    labels = [tokens(level, list(range(7))) for level in range(depth)]
    names = [f"item {row}" for row in range(len(sids))]
    catalogue = Catalogue.from_sids(sids, names, labels, titles=names)
    superset = [[*tokens(level, list(range(9))), f"<pad_{level}>"] for level in range(depth)]
    if shuffle:
        for level in superset:
            random.shuffle(level)
    rebased = catalogue.rebase(superset)
    assert rebased.labels == tuple(tuple(level) for level in superset)
    assert sids_and_items(rebased) == sids_and_items(catalogue)
    codes = rebased.codes(range(rebased.num_sids)).tolist()
    assert codes == sorted(codes)
    for position in range(rebased.num_items):
        assert rebased.title(position) == rebased.item_id(position)
    assert catalogue.version != rebased.version
    assert rebased.rebase(superset).version == rebased.version
    fresh = Catalogue.from_sids(
        rebased.codes([rebased.leaf_of(rebased.position(name)) for name in names]),
        names,
        superset,
        titles=names,
    )
    assert fresh.version == rebased.version


@examples
@given(sid_rows(), st.randoms(use_true_random=False), st.booleans())
def test_registered_filters_come_along(sids: list[SID], random: Random, shuffle: bool) -> None:
    depth, names = len(sids[0]), [f"item {row}" for row in range(len(sids))]
    labels = [tokens(level, list(range(7))) for level in range(depth)]
    catalogue = Catalogue.from_sids(sids, names, labels)
    kept = {name: set(random.sample(names, random.randint(0, len(names)))) for name in ("x", "y")}
    for name, alive in kept.items():
        catalogue.register_filter(name, allow=sorted(alive))
    superset = [[*tokens(level, list(range(9)))] for level in range(depth)]
    if shuffle:
        for level in superset:
            random.shuffle(level)
    rebased = catalogue.rebase(superset)
    for named in (["x"], ["y"], ["x", "y"]):
        want = set.intersection(*(kept[name] for name in named))
        fresh = rebased.filter(allow=sorted(want))  # the same filter, made after the move
        passes = rebased.filter(named=named)
        leaves = range(rebased.num_sids)
        found, _ = rebased.expand(leaves, 99, request_filter=passes)
        assert {rebased.item_id(int(at)) for at in found} == want
        assert passes.mask is not None
        for at, words in enumerate(passes.mask.levels):
            nodes = [n for n in range(len(rebased.levels[at])) if words[n >> 5] >> (n & 31) & 1]
            assert nodes == fresh.nodes[at].tolist()
    rebased.register_filter("later", allow=[])
    with pytest.raises(InputError, match="unknown filter 'later'; registered filters: x, y"):
        catalogue.filter(named=["later"])


def test_a_catalogue_with_these_labels_stays_itself() -> None:
    catalogue = Catalogue.from_sids([[0], [1]], labels=[["<a_9>", "<a_10>"]])
    assert catalogue.rebase([["<a_9>", "<a_10>"]]) is catalogue
    assert catalogue.rebase([["<a_10>", "<a_9>"]]) is not catalogue


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([["<a_0>", "<a_1>", "<a_0>"]], "level 0 has the label '<a_0>' twice"),
        ([["<a_0>", "<a\ud800_1>"]], r"level 0: '<a.ud800_1>' is not Unicode"),
        ([[0, -1]], "level 0: code -1 is negative"),
        ([[0, 2**31]], "level 0: code 2147483648 is out of the int32 range"),
        ([[True, False]], "labels are bool"),
        ([[]], "labels are nothing"),
    ],
)
def test_wrong_labels_are_refused(labels: list[list[str | int]], reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        Catalogue.from_sids([[0]], labels=labels)


def test_order_of_the_superset_as_text_moves_nodes() -> None:
    catalogue = Catalogue.from_sids([[0], [1]], labels=[["<a_9>", "<a_10>"]])
    rebased = catalogue.rebase([sorted(["<a_9>", "<a_10>", "<a_11>"])])
    assert rebased.codes([0, 1]).tolist() == [[0], [2]]
    assert [rebased.item_id(at) for at in range(2)] == [1, 0]


def test_plain_codes_take_the_tokens_with_their_numbers() -> None:
    catalogue = Catalogue.from_sids([[2, 0], [4, 1]], level_sizes=[8, 8])
    rebased = catalogue.rebase([["<a_2>", "<a_4>", "<a_5>"], ["<b_0>", "<b_1>"]])
    assert rebased.label_kind == "token"
    assert rebased.codes([0, 1]).tolist() == [[0, 0], [1, 1]]


def test_token_ids_take_token_ids() -> None:
    catalogue = Catalogue.from_sids([[0], [1]], labels=[[70, 90]])
    assert catalogue.rebase([[60, 70, 80, 90]]).codes([0, 1]).tolist() == [[1], [3]]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([["<a_1>"], ["<b_0>"]], "level 0 of the model has no code for '<a_0>', which item 'y'"),
        ([["<a_0>", "<a_1>"], ["<b_9>"]], "level 1 of the model has no code for '<b_0>'"),
        ([["<a_0>", "<a_1>"]], "labels for 1 levels, but the catalogue has 2"),
        ([[0, 1], [0]], "of kind token, the given ones of kind token_id"),
    ],
)
def test_what_does_not_fit_is_refused(labels: list[list[str | int]], reason: str) -> None:
    catalogue = Catalogue.from_sids(
        [[1, 0], [0, 0]], ["x", "y"], [["<a_0>", "<a_1>"], ["<b_0>", "<b_unused_7>"]]
    )
    with pytest.raises(CatalogueError, match=reason):
        catalogue.rebase(labels)


def test_natural_order_puts_numbers_before_text() -> None:
    assert natural_order({"<a_10>", "<a_9>", "<pad>", "<b_9>"}) == [
        "<a_9>",
        "<b_9>",
        "<a_10>",
        "<pad>",
    ]

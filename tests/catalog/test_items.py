"""Item ids, titles, labels and SIDs as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.brute import examples
from xgr.catalog import Catalogue
from xgr.catalog import items as items_module
from xgr.catalog.labels import encode_rows
from xgr.errors import CatalogueError, InputError

Ids = st.lists(
    st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 40), min_size=1, max_size=30, unique=True
)


@examples
@given(Ids, st.randoms())
def test_integer_ids_are_found_as_numbers_and_as_text(ids: list[int], random: object) -> None:
    catalogue = Catalogue.from_sids([[i % 3] for i in range(len(ids))], [str(i) for i in ids])
    for item in ids:
        at = catalogue.position(item)
        assert catalogue.position(str(item)) == at
        found = catalogue.item_id(at)
        assert found == item
        assert isinstance(found, int)
    assert catalogue.positions(np.asarray(ids)).tolist() == [catalogue.position(i) for i in ids]
    for stranger in (max(ids) - 2**64, 2**70, "x", "", f"0{ids[0]}", "+1"):
        with pytest.raises(InputError, match="not in the catalogue"):
            catalogue.position(stranger)


@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 1, 0], [0, 5, -7], list(range(0, 200, 2))])
def test_strangers_to_dense_sparse_few_and_many_ids_are_not_found(ids: list[int]) -> None:
    catalogue = Catalogue.from_sids([[0]] * len(ids), ids)
    strangers: list[int | str] = ["x", "", "-0", "00", -1, 3, 201, 2**31, -(2**31), 2**63, -(2**70)]
    for stranger in strangers:
        assert catalogue.positions([stranger], unknown="skip").tolist() == []
    many: list[int | str] = [*strangers, *ids, *strangers] * 5
    assert catalogue.positions(many, unknown="skip").tolist() == list(range(len(ids))) * 5
    unsigned = np.asarray([2**64 - 1, 2**63, 0], dtype=np.uint64)
    assert catalogue.positions(unsigned, unknown="skip").tolist() == [ids.index(0)]


@examples
@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=30, unique=True))
def test_text_ids_come_back_as_they_were(names: list[str]) -> None:
    ids = [*names, "x-1"]
    catalogue = Catalogue.from_sids([[i % 4] for i in range(len(ids))], ids)
    for name in ids:
        assert catalogue.item_id(catalogue.position(name)) == name
    with pytest.raises(InputError, match="not in the catalogue"):
        catalogue.position("no such item")


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["1", "2"], int),
        (["1", "02"], str),
        (["1", "2 "], str),
        (["-1", "0"], int),
        (["1", "-0"], str),
        (["1", str(2**63)], str),
        (["1", "٢"], str),
        ([1, "A9"], str),
    ],
)
def test_ids_are_integers_only_when_every_text_is_canonical(ids: list[str], kind: type) -> None:
    catalogue = Catalogue.from_sids([[0], [1]], ids)
    assert [type(catalogue.item_id(at)) for at in range(2)] == [kind, kind]
    assert catalogue.position(1 if ids[0] in (1, "1") else ids[0]) == 0


def test_colliding_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_module, "_hash", len)
    names = ["ab", "cd", "efg", "ef"]
    catalogue = Catalogue.from_sids([[i] for i in range(4)], names)
    assert [catalogue.position(name) for name in names] == [0, 1, 2, 3]
    with pytest.raises(InputError, match="'zz'"):
        catalogue.position("zz")


def test_unknown_ids_are_named_or_skipped() -> None:
    catalogue = Catalogue.from_sids([[0], [1]], ["a", "b"])
    with pytest.raises(InputError, match="'x', 'y', 3, 4, 5 and 1 more"):
        catalogue.positions(["a", "x", "y", 3, 4, 5, 6])
    assert catalogue.positions(["x", "b"], unknown="skip").tolist() == [1]
    with pytest.raises(InputError, match='"error" or "skip"'):
        catalogue.positions(["a"], unknown="drop")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="one text"):
        catalogue.positions("ab")
    with pytest.raises(InputError, match="float"):
        catalogue.positions([1.5])  # type: ignore[list-item]  # on purpose


HALF = "x\ud800"


@pytest.mark.parametrize("ids", [["a", "b"], [5, 7], [0, 1]])
def test_half_of_a_surrogate_pair_is_no_item(ids: list[int | str]) -> None:
    catalogue = Catalogue.from_sids([[0], [1]], ids)
    with pytest.raises(InputError, match=r"not in the catalogue: item 'x.ud800'") as error:
        catalogue.position(HALF)
    str(error.value).encode()
    assert catalogue.positions([HALF, ids[1]], unknown="skip").tolist() == [1]
    assert catalogue.leaves([HALF, ids[1]]) == [-1, 1]
    assert catalogue.filter(exclude=[HALF], unknown="skip").kind == "none"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"item_ids": ["a", HALF]}, r"row 1: item id 'x.ud800' is not Unicode"),
        ({"titles": ["a", HALF]}, r"row 1: title 'x.ud800' is not Unicode"),
        ({"titles": ["a", 5]}, "row 1: title 5 is a int"),
        ({"titles": ["a", b"b"]}, "row 1: title b'b' is a bytes"),
        ({"item_ids": [1, 1.5]}, "row 1: item id 1.5 is a float"),
        ({"item_ids": [1, 10**5000]}, "row 1: item id is int with a number of thousands"),
        ({"item_ids": np.asarray([1, 2], dtype="m8[s]")}, "row 0: .* is a timedelta64"),
        ({"level_sizes": [0]}, "level 0 has 0 codes"),
        ({"level_sizes": [2**70]}, "level 0 has 1180591620717411303424 codes"),
    ],
)
def test_wrong_parts_are_refused_with_the_row(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        Catalogue.from_sids([[0], [1]], **more)


@pytest.mark.parametrize(
    "sids",
    [
        None,
        5,
        "12",
        {"a": 1},
        [[10**30]],
        [[0], [1, 2]],
        np.asarray([[1]], dtype="m8[s]"),
        [[None]],
    ],
)
def test_what_is_no_array_of_integers_is_refused(sids: Any) -> None:
    with pytest.raises(CatalogueError, match=r"SIDs|row"):
        Catalogue.from_sids(sids)


def test_look_ups_of_other_shapes_are_refused() -> None:
    catalogue = Catalogue.from_sids([[0], [1]])
    wrong: Any
    for wrong in (5, None, np.asarray([[0]]), [10**5000], [[0]], [None], [True]):
        with pytest.raises(InputError, match="item id"):
            catalogue.positions(wrong)
    for wrong in (0, "ab", [5], [[]]):
        with pytest.raises(InputError, match="filter"):
            catalogue.filter(named=wrong)
    with pytest.raises(InputError, match="filter name 5 is a int"):
        catalogue.register_filter(5, allow=[])  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="float64; integers are expected"):
        catalogue.codes([0.5])


def test_titles_follow_their_items() -> None:
    catalogue = Catalogue.from_sids([[2], [0], [1]], titles=["third", None, "zweiter ü"])
    assert [catalogue.title(at) for at in range(3)] == [None, "zweiter ü", "third"]
    assert Catalogue.from_sids([[0]], titles=[None]).title(0) is None


def test_token_codes_are_in_natural_numeric_order() -> None:
    rows = [["<a_10>", "<b_1>"], ["<a_2>", "<b_100>"], ["<a_9>", "<b_20>"], ["<z_9>", "<b_3>"]]
    codes, labels = encode_rows(rows, range(4), int_kind="code", pad_code=None)
    assert labels.levels == (
        ("<a_2>", "<a_9>", "<z_9>", "<a_10>"),
        ("<b_1>", "<b_3>", "<b_20>", "<b_100>"),
    )
    assert codes.tolist() == [[3, 0], [0, 3], [1, 2], [2, 1]]


def test_pad_code_is_the_last_code_of_the_levels_that_need_it() -> None:
    rows = [["<a_5>", "<b_0>", "<c_7>"], ["<a_5>"], ["<a_1>", "<b_9>"]]
    codes, labels = encode_rows(rows, range(3), int_kind="code", pad_code="<none>")
    assert labels.levels == (("<a_1>", "<a_5>"), ("<b_0>", "<b_9>", "<none>"), ("<c_7>", "<none>"))
    assert codes.tolist() == [[1, 0, 0], [1, 2, 1], [0, 1, 1]]
    unpadded = encode_rows([["<a_5>"], ["<a_6>"]], range(2), int_kind="code", pad_code="<none>")
    assert unpadded[1].levels == (("<a_5>", "<a_6>"),)


def test_pad_code_of_integers_is_an_integer() -> None:
    codes, labels = encode_rows([[900, 17], [40]], "xy", int_kind="token_id", pad_code="3")
    assert (labels.levels, codes.tolist()) == (((40, 900), (17, 3)), [[1, 0], [0, 1]])
    codes, labels = encode_rows([[4, 2], [1]], "xy", int_kind="code", pad_code="3")
    assert (labels.sizes, codes.tolist()) == ((5, 4), [[4, 2], [1, 3]])


@pytest.mark.parametrize(
    ("rows", "pad", "reason"),
    [
        ([["<a_1>"], ["<a_1>", "<b_1>"]], None, "row 1 .item 'y'.: 2 codes, but the first row"),
        ([["<a_1>"], []], None, "row 1 .item 'y'.: the SID is empty"),
        ([[], ["<a_1>"]], "<p_0>", "row 0 .item 'x'.: the SID is empty"),
        ([["<a_1>"], ["a1"]], None, "row 1 .item 'y'.: unknown token shape 'a1'"),
        ([["<a_1>"], ["<a>"]], None, "unknown token shape '<a>'"),
        ([["<a_1>"], ["<a_1> "]], None, "unknown token shape"),
        ([["<a_1>"], [1]], None, "1 is a int, but the first row has str"),
        ([[1], [True]], None, "True is a bool"),
        ([[1], [-1]], None, "row 1 .item 'y'.: code -1 is negative"),
        ([[1], [2**31]], None, "out of the int32 range"),
        ([["<a_1>", "<p_9>"], ["<a_1>"]], "<p_9>", "level 1 uses '<p_9>' already"),
        ([[1, 1], [1]], "none", "pad code 'none' must be an integer"),
        ([[1, 7], [1]], "3", "pad code 3 must be above every code of its level, 7"),
        ([["<a_1>"], ["<a_1>"] * 17], "<p_9>", "row 1 .item 'y'.: 17 codes"),
        ([], None, "empty"),
    ],
)
def test_wrong_rows_are_refused_with_row_item_and_reason(
    rows: list[list[str | int]], pad: str | None, reason: str
) -> None:
    with pytest.raises(CatalogueError, match=reason):
        encode_rows(rows, "xy", int_kind="code", pad_code=pad)


def test_find_sid_reads_every_spelling_of_tokens() -> None:
    rows = [["<a_10>", "<b_1>", "<c_4>"], ["<a_2>", "<b_7>", "<c_4>"]]
    codes, labels = encode_rows(rows, range(2), int_kind="code", pad_code=None)
    catalogue = Catalogue.from_sids(codes, labels=labels)
    for sid in ("<a_10><b_1><c_4>", "10,1,4", " 10, 1, 4 ", rows[0], (10, 1, 4)):
        assert catalogue.find_sid(sid) == 1
    assert catalogue.find_sid("<|sid_begin|><a_2><b_7><c_4><|sid_end|>") == 0
    for sid in ("<a_2><b_1><c_4>", "<a_0><b_1><c_4>", "1,1,4", ["<b_1>", "<a_10>", "<c_4>"]):
        assert catalogue.find_sid(sid) == -1
    for wrong in (
        "<a_2><b_7>",
        "1,2",
        "a,b,c",
        "",
        "<a_2> <b_7> <c_4>",
        "1,2,-3",
        "１,2,3",
    ):
        with pytest.raises(InputError, match="SID"):
            catalogue.find_sid(wrong)


@pytest.mark.parametrize(
    "sid",
    [
        [["a"], ["b"]],
        {"a": 1, "b": 2},
        [{"a": 1}, 2],
        {1, 2},
        [None, 1],
        [1.0, 0.0],
        [True, False],
        b"ab",
        np.asarray(1),
        np.asarray([[1], [0]]),
        "<a_1>, <b_0>",
        "<a_1><b_0>x",
        "<a_1><|sid_begin|>x<b_0>",
        object(),
        5,
        None,
    ],
)
@pytest.mark.parametrize("labels", [None, [["<a_0>", "<a_1>"]] * 2, [[1, 2], [0, 1]]])
def test_other_shapes_of_a_sid_are_refused(sid: Any, labels: Any) -> None:
    catalogue = Catalogue.from_sids([[0, 1], [1, 0]], labels=labels)
    with pytest.raises(InputError, match="SID"):
        catalogue.find_sid(sid)


@pytest.mark.parametrize("labels", [None, [["<a_0>", "<a_1>"]] * 2, [[1, 2], [0, 1]]])
def test_numbers_of_any_length_and_half_characters_find_nothing(labels: Any) -> None:
    catalogue = Catalogue.from_sids([[0, 1], [1, 0]], labels=labels)
    nines = "9" * 5000
    for sid in (f"{nines},0", f"<a_{nines}><b_0>", [10**5000, 0], ["<a\ud800_1>", 0], [-1, 0]):
        assert catalogue.find_sid(sid) == -1
    assert catalogue.find_sid(f"{'0' * 5000}1,0") == catalogue.find_sid([1, 0])
    with pytest.raises(InputError, match="thousands of digits"):
        catalogue.find_sid([10**5000])


def test_find_sid_of_plain_codes_checks_the_letter_of_a_level() -> None:
    catalogue = Catalogue.from_sids([[3, 5], [1, 0]])
    assert catalogue.find_sid("<s_a_3><s_b_5>") == catalogue.find_sid("<a_3><b_5>") == 1
    assert catalogue.find_sid((1, 0)) == catalogue.find_sid("1,0") == 0
    assert catalogue.find_sid("<b_3><a_5>") == catalogue.find_sid("99999999999999999999,0") == -1


def test_ambiguous_numbers_of_tokens_find_nothing() -> None:
    catalogue = Catalogue.from_sids([[0], [1]], labels=[["<a_1>", "<z_1>"]])
    assert catalogue.find_sid("1") == -1
    assert catalogue.find_sid("<z_1>") == 1

"""Every format from small files, detection, and refusals with the file and the row."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.data import shared
from xgr.catalog import Catalogue, read_catalogue
from xgr.catalog.describe import describe
from xgr.errors import CatalogueError, InputError

INDEX = {"7": ["<a_10>", "<b_1>"], "3": ["<a_2>", "<b_5>"], "5": ["<a_10>", "<b_1>"]}
INFO = "<a_10><b_1>\tA kettle\t7\n<a_2><b_5>\tTab\tin title\t3\n<a_10><b_1>\t\t5\n"


def write(path: Path, content: Any) -> Path:
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return path


def items_by_sid(catalogue: Catalogue) -> list[tuple[list[Any], list[Any]]]:
    """(labels of the SID, its items) in leaf order."""
    out = []
    for leaf, codes in enumerate(catalogue.codes(range(catalogue.num_sids))):
        sid = [catalogue.labels[level][code] for level, code in enumerate(codes)]
        out.append((sid, [catalogue.item_id(at) for at in catalogue.item_positions(leaf)]))
    return out


@pytest.mark.parametrize("name", ["Toys.index.json", "id2sid.json", "anything.json"])
def test_index_json(tmp_path: Path, name: str) -> None:
    catalogue = read_catalogue(write(tmp_path / name, INDEX))
    assert catalogue.label_kind == "token"
    assert items_by_sid(catalogue) == [(["<a_2>", "<b_5>"], [3]), (["<a_10>", "<b_1>"], [7, 5])]


def test_index_json_with_a_title_file(tmp_path: Path) -> None:
    source, info = write(tmp_path / "T.index.json", INDEX), write(tmp_path / "T.txt", INFO)
    catalogue = read_catalogue(source, titles=info)
    titles = {item: catalogue.title(catalogue.position(item)) for item in (7, 3, 5)}
    assert titles == {7: "A kettle", 3: "Tab\tin title", 5: None}
    assert read_catalogue(info).version == catalogue.version
    other = write(tmp_path / "other.txt", INFO.replace("<a_2>", "<a_3>"))
    with pytest.raises(CatalogueError, match="item '3' has the SID <a_3><b_5>, but <a_2><b_5>"):
        read_catalogue(source, titles=other)
    with pytest.raises(CatalogueError, match="a title for none"):
        read_catalogue(source, titles=write(tmp_path / "none.txt", "<a_1><b_1>\tX\t99\n"))


def test_info_txt(tmp_path: Path) -> None:
    catalogue = read_catalogue(write(tmp_path / "T.txt", INFO.replace("\n", "\r\n")))
    assert items_by_sid(catalogue) == [(["<a_2>", "<b_5>"], [3]), (["<a_10>", "<b_1>"], [7, 5])]
    assert catalogue.title(0) == "Tab\tin title"


def pack(a: int, b: int, c: int) -> str:
    return str(a * 8192**2 + b * 8192 + c)


@pytest.mark.parametrize(
    "entries",
    [
        {pack(8191, 0, 8191): [{"pid": 70, "count": 3}, {"pid": 2, "count": 1}], pack(0, 7, 1): 9},
        {pack(8191, 0, 8191): [70, 2], pack(0, 7, 1): [9]},
        {pack(8191, 0, 8191): [{"iid": 70}, {"iid": 2}], pack(0, 7, 1): "9"},
    ],
)
def test_sid2pid(tmp_path: Path, entries: dict[str, Any]) -> None:
    catalogue = read_catalogue(write(tmp_path / "sid2pid.json", entries))
    assert (catalogue.label_kind, catalogue.level_sizes) == ("code", (8192, 8192, 8192))
    assert items_by_sid(catalogue) == [([0, 7, 1], [9]), ([8191, 0, 8191], [70, 2])]
    assert catalogue.find_sid("<|sid_begin|><s_a_8191><s_b_0><s_c_8191><|sid_end|>") == 1


def test_jsonl_of_token_ids(tmp_path: Path) -> None:
    lines = [
        {"item_id": "x", "token_ids": [900, 17], "metadata": {"title": "Chair", "price": 3}},
        {"item_id": "y", "token_ids": [40, 25], "extra": 1},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + "\n\n"
    catalogue = read_catalogue(write(tmp_path / "items.jsonl", text))
    assert (catalogue.label_kind, catalogue.labels) == ("token_id", ((40, 900), (17, 25)))
    assert items_by_sid(catalogue) == [([40, 25], ["y"]), ([900, 17], ["x"])]
    assert [catalogue.title(at) for at in range(2)] == [None, "Chair"]
    assert catalogue.find_sid((900, 17)) == 1


@pytest.mark.parametrize("sid", [["<a_1>", "<b_2>"], "<a_1><b_2>"])
def test_jsonl_of_tokens(tmp_path: Path, sid: Any) -> None:
    line = {"item_id": 4, "sid": sid, "token_ids": [70, 90]}
    catalogue = read_catalogue(write(tmp_path / "items.jsonl", line))
    assert (catalogue.label_kind, items_by_sid(catalogue)) == ("token", [(["<a_1>", "<b_2>"], [4])])


def test_npy_with_and_without_item_ids(tmp_path: Path) -> None:
    codes = np.asarray([[3, 1], [0, 2], [3, 1]], dtype=np.int16)
    source = write(tmp_path / "items.npy", codes)
    catalogue = read_catalogue(source)
    assert (catalogue.label_kind, catalogue.level_sizes) == ("code", (4, 3))
    assert items_by_sid(catalogue) == [([0, 2], [1]), ([3, 1], [0, 2])]
    np.save(tmp_path / "items.ids.npy", np.asarray(["x", "y", "z"]))
    assert items_by_sid(read_catalogue(source)) == [([0, 2], ["y"]), ([3, 1], ["x", "z"])]
    np.save(tmp_path / "items.ids.npy", np.asarray([5, 6]))
    with pytest.raises(CatalogueError, match="2 item ids for the 3 rows"):
        read_catalogue(source)
    np.save(tmp_path / "items.ids.npy", np.asarray([0.5, 1, 2]))
    with pytest.raises(CatalogueError, match="N integers or texts"):
        read_catalogue(source)
    for wrong, reason in (
        (np.asarray([[1], [2], [3]]), r"int64 \[3, 1\]; N integers or texts"),
        (np.asarray([1, "x", None], dtype=object), r"ids\.npy: holds pickled .*asarray\(ids"),
        (np.asarray([1, 2, 3], dtype="m8[s]"), "N integers or texts"),
        (np.asarray([1, 2, 2**63], dtype=np.uint64), "row 2: item id 9223372036854775808 is out"),
        (np.asarray(["x", "", "z"]), "row 1: the item id is empty"),
        (np.asarray([5, 6, 5]), "row 2: item id 5 was given before, in row 0"),
    ):
        np.save(tmp_path / "items.ids.npy", wrong)
        with pytest.raises(CatalogueError, match=reason):
            read_catalogue(source)
    words = np.asarray(["a", "b", "c"]).view(np.uint32) + np.uint32(0x7FFF0000)
    np.save(tmp_path / "items.ids.npy", words.view("<U1"))
    with pytest.raises(CatalogueError, match="not texts"):
        read_catalogue(source)


@pytest.mark.parametrize(
    ("column", "sids", "kind"),
    [
        ("token_ids", [[900, 17], [40, 25]], "token_id"),
        ("codes", [[1, 0], [0, 1]], "code"),
        ("sid", [["<a_9>", "<b_1>"], ["<a_2>", "<b_9>"]], "token"),
        ("sid", ["<a_9><b_1>", "<a_2><b_9>"], "token"),
    ],
)
def test_parquet(tmp_path: Path, column: str, sids: list[Any], kind: str) -> None:
    table = pa.table({"item_id": ["x", "y"], column: sids, "title": ["Chair", None]})
    parquet.write_table(table, tmp_path / "items.parquet")
    catalogue = read_catalogue(tmp_path / "items.parquet")
    assert catalogue.label_kind == kind
    assert [catalogue.item_id(at) for at in range(2)] == ["y", "x"]
    assert [catalogue.title(at) for at in range(2)] == [None, "Chair"]


def test_parquet_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "items.parquet"
    for columns, reason in (
        ({"item_id": [1]}, "no column of codes"),
        ({"codes": [[1, 2], None]}, "row 1: the SID is None"),
        ({"codes": [[1, 2], [1, None]]}, "row 1 .item 1.: code None is a NoneType"),
        ({"codes": [[1.5]]}, "row 0 .item 0.: code 1.5 is a float"),
        ({"codes": [[True, False]]}, "row 0 .item 0.: code True is a bool"),
        ({"sid": ["<a_1><b_1>", "<a_2>;<b_2>"]}, "row 1: the SID is '<a_2>;<b_2>'"),
        ({"sid": ["<a_1>"], "title": [5]}, "row 0: title 5 is a int"),
        ({"sid": ["<a_1>"], "item_id": [1.5]}, "row 0: item id 1.5 is a float"),
        ({"sid": ["<a_1>"], "item_id": [None]}, "row 0: item id None is a NoneType"),
        ({"codes": [[1, 2], [3, -4]]}, "row 1 .item 1.: code -4 is negative"),
    ):
        parquet.write_table(pa.table(columns), path)
        with pytest.raises(CatalogueError, match=reason):
            read_catalogue(path)
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(CatalogueError, match="not readable as Parquet"):
        read_catalogue(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CatalogueError, match=r"pip install 'xgr\[parquet\]'"):
        read_catalogue(path)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.index.json", "{", "not readable as JSON"),
        ("a.index.json", [1], "holds a list, not a JSON object"),
        ("a.index.json", {}, "the catalogue is empty"),
        ("a.index.json", '{"1": ["<a_1>"], "2": ["<a_2>"], "1": ["<a_3>"]}', "row 2: key '1'"),
        ("a.index.json", {"1": ["<a_1>", "<b_1>"], "2": ["<a_1>"]}, "row 1 .item '2'.: 1 codes"),
        ("a.index.json", {"1": ["<a_1>"], "2": ["a_1"]}, "row 1 .item '2'.: unknown token shape"),
        ("a.index.json", {"1": ["<a_1>"], "2": 7}, "row 1 .item '2'.: 7 is not a list of codes"),
        ("sid2pid.json", {"1": [4], str(8192**3): [5]}, "row 1: key '549755813888' is not"),
        ("sid2pid.json", {"x": [4]}, "row 0: key 'x' is not a packed SID"),
        ("sid2pid.json", {"1": []}, "row 0 .SID 1.: has no items"),
        ("sid2pid.json", {"1": [4], "2": [{"count": 1}]}, "row 1 .SID 2.: .* is not a pid"),
        ("sid2pid.json", {"1": [4], "2": [4]}, "row 1: item id 4 was given before, in row 0"),
        ("sid2pid.json", {"9" * 5000: [4]}, r"row 0: key '9+\.\.\. is not a packed SID"),
        ("sid2pid.json", '{"1": ' + "9" * 5000 + "}", "not readable as JSON"),
        ("a.json", "[" * 100_000, "too deeply nested"),
        ("a.index.json", '{"1": ' + "[" * 100_000, "too deeply nested"),
        ("a.jsonl", '{"item_id": 1, "metadata": {"x":' + "[" * 100_000, "too deeply nested"),
        ("a.index.json", {"1": [None, 1]}, "row 0 .item '1'.: code None is a NoneType"),
        ("a.index.json", {"1": [[1], [2]]}, r"row 0 .item '1'.: code \[1\] is a list"),
        ("a.index.json", {"1": [{"a": 1}]}, "row 0 .item '1'.: code {'a': 1} is a dict"),
        ("a.index.json", {"1": [1.5, 2.5]}, "row 0 .item '1'.: code 1.5 is a float"),
        ("a.index.json", {"1": [1.0, 2.0]}, "row 0 .item '1'.: code 1.0 is a float"),
        ("a.index.json", '{"1": [NaN, NaN]}', "row 0 .item '1'.: code nan is a float"),
        ("a.index.json", {"1": [True, False]}, "row 0 .item '1'.: code True is a bool"),
        ("a.index.json", {"1": [1], "2": [True]}, "row 1 .item '2'.: code True is a bool"),
        ("a.index.json", {"1": [f"<a_{'9' * 5000}>"]}, "row 0 .item '1'.: unknown token shape"),
        ("a.index.json", {"1": ["<a\ud800_1>"]}, r"row 0 .item '1'.: '<a.ud800_1>' is not Unicode"),
        ("a.index.json", {"x\ud800": ["<a_1>"]}, r"row 0: item id 'x.ud800' is not Unicode"),
        ("a.jsonl", '{"item_id": 1, "sid": [null, 1]}', "row 0 .item 1.: code None is a NoneType"),
        ("a.jsonl", '{"item_id": 1, "sid": [1.0, 2.0]}', "row 0 .item 1.: code 1.0 is a float"),
        ("a.jsonl", '{"item_id": 1, "token_ids": [1.0]}', "line 1: "),
        ("a.jsonl", '{"item_id": 1, "sid": "<a_1>, <b_2>"}', "row 0 .item 1.: the SID is '<a_1>, "),
        ("a.jsonl", '{"item_id": 1, "sid": "x<a_1><b_2>"}', "row 0 .item 1.: the SID is 'x<a_1>"),
        ("a.jsonl", '{"item_id": 1, "sid": ""}', "row 0 .item 1.: the SID is ''"),
        (
            "a.jsonl",
            '{"item_id": 1, "sid": "<a_1>", "metadata": {"title": 5}}',
            "row 0: title 5 is a int",
        ),
        ("a.txt", "<a_1>-<b_1>\tT\t1\n", "line 1: .* is not SID, title and item id"),
        ("a.jsonl", "", "the catalogue is empty"),
        ("a.jsonl", '{"item_id": 1, "token_ids": [1]}\n{"item_id": 2', "line 2"),
        ("a.jsonl", '{"item_id": 1, "token_ids": [1.5]}', r"line 1: .*\$.token_ids"),
        ("a.jsonl", '{"item_id": 1}', "neither 'token_ids' nor 'sid'"),
        ("a.jsonl", '{"item_id": 1, "sid": [1]}\n{"item_id": 2}', "row 1 .item 2.: no 'sid'"),
        ("a.txt", "<a_1>\tT\t1\nnonsense\n", "line 2: 'nonsense' is not SID, title and item"),
        ("a.txt", "<a_1>\tT\t1\n<a_1>\tT\t\n", "line 2"),
        ("a.txt", "", "empty"),
        ("a.npy", np.asarray([[0.5]]), "float64, not integers"),
        ("a.npy", np.asarray([1, 2]), r"shape \(2,\)"),
        ("a.npy", np.asarray([[1], [-3]]), "a.npy: row 1: code -3 of level 0 is negative"),
        ("a.npy", np.asarray([[1, "x"]], dtype=object), "holds pickled Python objects.*numpy.save"),
        ("a.npy", '{"1": [2]}', "not readable as a NumPy array: it starts with b'{"),
        ("a.npy", "", "not readable as a NumPy array: it starts with b''"),
        ("a.npy", "PK\x03\x04rest", "is an archive"),
        ("a.npy", b"\x80\x04]\x94.", "holds pickled Python objects"),
        ("a.npy", b"\x93NUMPY", "not readable as a NumPy array"),
        ("a.npy", b"\x93NUMPY\x01\x00\x08\x00{'descr'", "not readable as a NumPy array"),
        ("a.npy", b"\x93NUMPY\x01\x00\x08\x00" + b"(" * 8, "not readable as a NumPy array"),
        ("a.npy", np.asarray([[1, 2]], dtype="m8[s]"), "timedelta64.*not integers"),
        ("a.npy", np.zeros((0, 3), dtype=np.int32), "the catalogue is empty"),
        (
            "items.ids.npy",
            np.asarray([1, 2]),
            "has the name of item ids; give the codes, items.npy",
        ),
        ("a.pt", "x", "is a pickled file.*numpy.save"),
        ("a.csv", "x", "the format of a .csv file is unknown; pass format="),
    ],
)
def test_wrong_files_are_refused_with_file_row_and_reason(
    tmp_path: Path, name: str, content: Any, reason: str
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(CatalogueError, match=reason) as refusal:
        read_catalogue(path)
    assert str(refusal.value).startswith(str(path))


def test_the_size_of_a_number_costs_no_memory(tmp_path: Path) -> None:
    """2^31 - 2 is a legal code; neither reading nor looking at it may take memory by its size."""
    index = write(tmp_path / "a.index.json", {"1": [2147483646, 1], "2": [3, 0]})
    lines = write(tmp_path / "a.jsonl", '{"item_id": 1, "sid": [2147483646]}')
    codes = write(tmp_path / "a.npy", np.asarray([[2147483646, 1]], dtype=np.int32))
    for path in (index, lines, codes):
        tracemalloc.start()
        catalogue = read_catalogue(path, out=tmp_path / "saved")
        facts = describe(catalogue)
        assert catalogue.find_sid([2147483646, 1][: catalogue.depth]) == catalogue.num_sids - 1
        with pytest.raises(CatalogueError, match="level 0 has 2147483647 codes; at most 16777216"):
            catalogue.rebase([["<a_1>"]] * catalogue.depth)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10_000_000
        assert facts["levels"][0]["codes"] == 2147483647
        assert facts["levels"][0]["codes_used"] == catalogue.num_sids
    padded = write(tmp_path / "b.index.json", {"1": [5, 2147483645], "2": [5]})
    assert read_catalogue(padded, pad_code="2147483646").level_sizes == (6, 2147483647)
    for wrong, reason in (("9" * 5000, "out of the int32 range"), ("٣", "must be an integer")):
        with pytest.raises(CatalogueError, match=reason):
            read_catalogue(padded, pad_code=wrong)


def test_every_text_of_tokens_is_split_in_one_way(tmp_path: Path) -> None:
    sid = "<|sid_begin|><a_1><b_2><|sid_end|>"
    lines = write(tmp_path / "a.jsonl", json.dumps({"item_id": 4, "sid": sid}))
    info = write(tmp_path / "a.txt", f"{sid}\tLamp\t4\n")
    parquet.write_table(pa.table({"item_id": [4], "sid": [sid]}), tmp_path / "a.parquet")
    for path in (lines, info, tmp_path / "a.parquet"):
        catalogue = read_catalogue(path, titles=info)
        assert items_by_sid(catalogue) == [(["<a_1>", "<b_2>"], [4])]
        assert catalogue.title(0) == "Lamp"
        assert catalogue.find_sid(sid) == 0


def test_an_ambiguous_json_says_how_to_choose(tmp_path: Path) -> None:
    path = write(tmp_path / "items.json", {"5": [1, 2, 3]})
    with pytest.raises(CatalogueError, match=r"fits more than one format.*format="):
        read_catalogue(path)
    assert items_by_sid(read_catalogue(path, format="index-json")) == [([1, 2, 3], [5])]
    assert items_by_sid(read_catalogue(path, format="sid2pid")) == [([0, 0, 5], [1, 2, 3])]
    with pytest.raises(CatalogueError, match="fits no format"):
        read_catalogue(write(tmp_path / "config.json", {"hidden_size": "x"}))
    with pytest.raises(CatalogueError, match="saved catalogue; give its folder"):
        read_catalogue(write(tmp_path / "catalogue.json", {"format": "xgr-catalogue"}))
    with pytest.raises(InputError, match="unknown catalogue format 'csv'; known: auto, index"):
        read_catalogue(path, format="csv")
    with pytest.raises(CatalogueError, match="does not exist"):
        read_catalogue(tmp_path / "nowhere.json")
    with pytest.raises(CatalogueError, match="is a folder"):
        read_catalogue(tmp_path, format="jsonl")


def test_pad_code_makes_ragged_files_readable(tmp_path: Path) -> None:
    path = write(tmp_path / "a.index.json", {"1": ["<a_1>"], "2": ["<a_1>", "<b_4>"]})
    with pytest.raises(CatalogueError, match="--pad-code"):
        read_catalogue(path)
    catalogue = read_catalogue(path, pad_code="<b_none>")
    assert items_by_sid(catalogue) == [(["<a_1>", "<b_4>"], [2]), (["<a_1>", "<b_none>"], [1])]


def test_every_format_builds_the_same_into_a_folder(tmp_path: Path) -> None:
    source = write(tmp_path / "T.txt", INFO)
    saved = read_catalogue(source, out=tmp_path / "saved")
    assert saved.version == read_catalogue(source).version
    again = read_catalogue(tmp_path / "saved", out=tmp_path / "copy")
    assert again.version == read_catalogue(tmp_path / "copy", format="saved").version
    with pytest.raises(InputError, match="act when one is built"):
        read_catalogue(tmp_path / "saved", pad_code="<x_1>")


def test_games_index() -> None:
    path = shared("data/genrec_mimi/Games/Games.index.json")
    catalogue = read_catalogue(path)
    assert (catalogue.num_items, catalogue.num_sids, catalogue.depth) == (16859, 16717, 4)
    entries = json.loads(path.read_text())
    by_sid: dict[str, list[int]] = {}
    for item, tokens in entries.items():
        by_sid.setdefault("".join(tokens), []).append(int(item))
    for sid, items in by_sid.items():
        positions = catalogue.item_positions(catalogue.find_sid(sid))
        assert [catalogue.item_id(at) for at in positions] == items
    assert catalogue.labels[0][:3] == ("<a_0>", "<a_2>", "<a_3>")


def test_industrial_index_and_info() -> None:
    index = shared("data/minionerec_amazon/index/Industrial_and_Scientific.index.json")
    info = shared("data/minionerec_amazon/info/Industrial_and_Scientific_5_2016-10-2018-11.txt")
    catalogue = read_catalogue(index, titles=info)
    assert (catalogue.num_items, catalogue.num_sids) == (3686, 3670)
    assert catalogue.level_sizes == (48, 256, 256)
    title = catalogue.title(catalogue.position("0"))
    assert title is not None
    assert title.startswith("SUPCO SPP6 Relay/Capacitor Hard Start Kit")
    assert read_catalogue(info).version == catalogue.version

"""Tuned tables: the walk, what reaches the kernel, and that nothing is passed over in silence."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.registry.kernels import Spy, cpu, kernel, refuses, sort, staged, table, write
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.backends.cuda.kernels import KERNELS
from xgr.errors import InputError, Unsupported
from xgr.ops import specs
from xgr.ops.spec import Problem
from xgr.registry.tables import SHIPPED, Tables
from xgr.runtime import Runtime


def tuned(
    folder: Path, monkeypatch: pytest.MonkeyPatch, raw: object, **facts: Any
) -> tuple[Runtime, Spy]:
    """A CPU runtime that reads a table, with the two kernels that such tables name."""
    monkeypatch.setenv("XGR_TABLES", str(write(folder, raw)))
    rt, spy = cpu(), Spy()
    facts = {"factory": spy, "tunables": ("tile",), **facts}
    for name in ("narrow", "wide"):
        rt.register(kernel("beam_sort", f"tests.{name}", **facts))
    return rt, spy


@pytest.mark.parametrize(
    ("columns", "name", "tile", "leaf"),
    [(1, "narrow", 32, 1), (16, "narrow", 32, 1), (17, "wide", 64, 2), (9999, "wide", 64, 2)],
)
def test_the_leaf_decides_kernel_and_config(
    columns: int, name: str, tile: int, leaf: int,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rt, spy = tuned(tmp_path, monkeypatch, table())
    choice = rt.bind("beam_sort", sort(columns)).choice
    assert choice.kernel is not None
    assert choice.kernel.name == f"tests.{name}"
    assert (choice.config, spy.configs) == ({"tile": tile}, [{"tile": tile}])
    text = str(rt.explain("beam_sort", sort(columns)))
    assert f"chosen: tests.{name} (by tuned table beam_sort.json, leaf {leaf})" in text
    assert f"config: {{'tile': {tile}}}" in text
    assert "priority serves" not in text
    assert rt.explain("beam_sort", sort(columns)).to_json()["tuned"] is True


def test_a_size_at_the_threshold_goes_left(tmp_path: Path) -> None:
    tables = Tables(CpuBackend().device, "cpu_ref")
    tables.read(write(tmp_path, table(tree={"threshold": [16, 0, 0]})), specs())
    found = [tables.lookup(sort(columns)) for columns in (16, 17)]
    assert [entry and entry.kernel for entry in found] == ["tests.narrow", "tests.wide"]


def test_deep_trees_over_several_axes(tmp_path: Path) -> None:
    tree = {
        "feature": [1, 0, -1, -1, -1],
        "threshold": [3.5, 16.5, 0, 0, 0],
        "left": [1, 2, 0, 0, 0],
        "right": [4, 3, 0, 0, 0],
        "leaf": [-9, -9, 0, 1, 0],
    }
    tables = Tables(CpuBackend().device, "cpu_ref")
    tables.read(write(tmp_path, table(features=["C", "R"], tree=tree)), specs())
    leaves = {
        (columns, rows): entry.source.rpartition(" ")[2]
        for columns in (16, 17)
        for rows in (3, 4)
        if (entry := tables.lookup(sort(columns, rows))) is not None
    }
    assert leaves == {(16, 3): "2", (17, 3): "3", (16, 4): "4", (17, 4): "4"}


def test_a_table_serves_its_op_and_dtype_alone(tmp_path: Path) -> None:
    tables = Tables(CpuBackend().device, "cpu_ref")
    tables.read(write(tmp_path, table(dtype="bfloat16")), specs())
    assert tables.lookup(sort()) is None
    assert tables.lookup(sort(dtype="bfloat16")) is not None


def test_a_forced_kernel_gets_no_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rt, spy = tuned(tmp_path, monkeypatch, table())
    rt.bind("beam_sort", sort(), "tests.wide")
    assert spy.configs == [{}]


CANDIDATE = {"kernel": "tests.narrow", "config": {"tile": 32}}


def candidates(**changes: Any) -> dict[str, Any]:
    return table(candidates=[CANDIDATE | changes] * 2)


@pytest.mark.parametrize(
    ("raw", "facts", "reason"),
    [
        (candidates(kernel="gone"), {}, "'gone' is no kernel of beam_sort; known: cpu_ref.fast, "),
        (table(), {"rule": refuses}, "tests.narrow cannot serve: moon: got wane, need full"),
        (table(), {"auto": refuses}, "tests.narrow cannot serve: moon: got wane, need full"),
        (table(), {"tunables": ()}, "sets tile; the tunables of tests.narrow: none"),
        (candidates(config={"tile": 1, "b": 2, "a": 3}), {}, "sets a, b; the tunables of tests.n"),
    ],
)
def test_an_entry_that_cannot_decide_is_named_while_priority_serves(
    raw: dict[str, Any], facts: dict[str, Any], reason: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rt, spy = tuned(tmp_path, monkeypatch, raw, **facts)
    found = rt.explain("beam_sort", sort())
    assert "chosen: cpu_ref.fast (by priority)" in str(found)
    assert f"  passed over: tuned table beam_sort.json, leaf 1: {reason}" in str(found)
    assert reason in found.to_json()["passed_over"]
    assert rt.bind("beam_sort", sort()).choice.config == {}
    assert spy.problems == []


def test_a_composition_that_stands_in_for_an_entry_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = table("staged_attention", features=["T"], candidates=[{"kernel": "gone"}] * 2)
    monkeypatch.setenv("XGR_TABLES", str(write(tmp_path, raw)))
    rt = cpu()
    rt._kernels["staged_attention"] = []
    found = rt.explain("staged_attention", staged())
    assert "'gone' is no kernel of staged_attention; known: none" in found.to_json()["passed_over"]
    assert found.to_json()["chosen"] == "composed"


def test_a_table_does_not_rescue_a_problem_that_nothing_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt, _ = tuned(tmp_path, monkeypatch, table(), rule=refuses)
    rt._kernels["beam_sort"] = [k for k in rt.kernels("beam_sort") if k.name.startswith("tests")]
    with pytest.raises(Unsupported, match="no kernel can run"):
        rt.bind("beam_sort", sort())


def without(key: str) -> dict[str, Any]:
    raw = table()
    del raw[key]
    return raw


REFUSED = {
    "schema": (table(schema=1), "schema 1, this build reads 3"),
    "op": (table() | {"op": "beam_sotr"}, "op 'beam_sotr' is not declared"),
    "version": (table(op_version=99), "made for version 99 of beam_sort, now 1"),
    "dtype": (table(dtype="fp32"), "dtype 'fp32' is none of float32, bfloat16, float16"),
    "feature names": (table(features=["weight"]), "features ['weight'] are none of beam_sort"),
    "feature text": (table(features="C"), "features C are none of"),
    "empty": ("", "cannot be read"),
    "truncated": (json.dumps(table())[:-30], "cannot be read"),
    "not json": ("\N{PILE OF POO}", "cannot be read"),
    "nested": ("[" * 100_000, "cannot be read"),
    "list": ([table()], "cannot be read"),
    "op of lists": (table() | {"op": ["beam_sort"]}, "cannot be read"),
    **{f"no {key}": (without(key), f"KeyError('{key}')") for key in table()},
    "cycle": (table(tree={"left": [0, -1, -1]}), "node 0 has no children behind it"),
    "back": (table(tree={"feature": [0, 0, -1], "left": [1, 2, 0], "right": [2, 1, 0]}), "node 1"),
    "beyond": (table(tree={"right": [3, -1, -1]}), "node 0 has children outside the tree"),
    "left beyond": (table(tree={"left": [3, -1, -1], "right": [3, -1, -1]}), "node 0 has no"),
    "no node": (table(tree={k: [] for k in table()["tree"]}), "columns differ in length"),
    "short column": (table(tree={"leaf": [0, 0]}), "columns differ in length"),
    "feature 1": (table(tree={"feature": [1, -1, -1]}), "node 0 names feature 1"),
    "leaf 2": (table(tree={"leaf": [0, 2, 0]}), "leaf 1 names candidate 2"),
    "leaf -1": (table(tree={"leaf": [0, -1, 0]}), "leaf 1 names candidate -1"),
    "text threshold": (table(tree={"threshold": ["16", 0, 0]}), "threshold holds more than"),
    "nan threshold": (table(tree={"threshold": [float("nan"), 0, 0]}), "more than finite numbers"),
    "vast threshold": (table(tree={"threshold": [10**400, 0, 0]}), "cannot be read"),
    "half a node": (table(tree={"left": [1.0, -1, -1]}), "left holds more than integers"),
    "half a feature": (table(tree={"feature": [0.0, -1, -1]}), "feature holds more than integers"),
    "text leaf": (table(tree={"leaf": [0, "0", 1]}), "leaf holds more than integers"),
    "kernel 7": (candidates(kernel=7), "needs a kernel's name"),
    "text config": (candidates(config={"tile": "32"}), "the config of tests.narrow holds more"),
    "config list": (candidates(config=[32]), "needs a kernel's name and its config"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_table_is_refused_with_the_reason_and_priority_serves(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, reason = REFUSED[case]
    rt, _ = tuned(tmp_path, monkeypatch, raw)
    found = rt.explain("beam_sort", sort())
    assert found.to_json()["chosen"] == "cpu_ref.fast"
    refused = found.to_json()["refused_tables"]
    assert len(refused) == 1
    assert refused[0].startswith("beam_sort.json: ")
    assert reason in refused[0]
    assert f"  table refused: {refused[0]}" in str(found)
    assert "no tuned table for this op: priority serves" in str(found)


def test_the_first_of_two_tables_stays_and_the_second_is_named(tmp_path: Path) -> None:
    tables = Tables(CpuBackend().device, "cpu_ref")
    write(tmp_path, table(), "a.json")
    write(tmp_path, candidates(kernel="tests.wide"), "b.json")
    tables.read(tmp_path, specs())
    entry = tables.lookup(sort())
    assert entry is not None
    assert entry.kernel == "tests.narrow"
    assert tables.refused == ["b.json: a.json serves beam_sort in float32 already"]


def test_a_refused_table_does_not_harm_the_others(tmp_path: Path) -> None:
    tables = Tables(CpuBackend().device, "cpu_ref")
    write(tmp_path, "{", "a.json")
    write(tmp_path, table(), "b.json")
    write(tmp_path, "not a table", "notes.txt")
    tables.read(tmp_path, specs())
    assert tables.lookup(sort()) is not None
    assert len(tables.refused) == 1


def test_refused_tables_are_listed_once_for_a_composition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XGR_TABLES", str(write(tmp_path, "{")))
    assert str(cpu().explain("staged_attention", staged(8000))).count("table refused") == 1


def test_a_folder_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for name in ("nowhere", "file"):
        monkeypatch.setenv("XGR_TABLES", str(tmp_path / name))
        with pytest.raises(InputError, match=f"no folder of tuned tables at .*{name}"):
            cpu()


# -- whose table it is ------------------------------------------------------------------------


def of(device: str, family: str = "cpu_ref", name: str = "tests.wide") -> dict[str, Any]:
    return candidates(kernel=name) | {"device": device, "family": family}


def test_a_table_of_this_device_goes_before_one_of_its_family(tmp_path: Path) -> None:
    write(tmp_path, of("other-cpu"), "a.json")
    write(tmp_path, of("this-cpu", name="tests.narrow"), "b.json")
    tables = Tables("this-cpu", "cpu_ref")
    tables.read(tmp_path, specs())
    entry = tables.lookup(sort())
    assert entry is not None
    assert (entry.kernel, entry.warning) == ("tests.narrow", "")
    assert tables.refused == ["a.json: b.json serves beam_sort in float32 already"]


def test_a_table_of_the_family_serves_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt, _ = tuned(tmp_path, monkeypatch, of("other-cpu"))
    with pytest.warns(UserWarning, match="measured on other-cpu, used on .* of the same family"):
        found = rt.explain("beam_sort", sort())
    assert found.to_json()["chosen"] == "tests.wide"
    assert "  warning: measured on other-cpu, used on " in str(found)
    rt.bind("beam_sort", sort(9))  # warned once


def test_a_table_of_another_family_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt, _ = tuned(tmp_path, monkeypatch, of("nvidia-h200", "sm_90"))
    found = rt.explain("beam_sort", sort())
    assert "measured on nvidia-h200 (sm_90), this is " in str(found)
    assert "(by priority)" in str(found)


def test_a_table_of_a_kernel_that_has_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = candidates(kernel="cpu_ref.fast", config={}) | {"sources": {"cpu_ref.fast": "0123"}}
    rt, _ = tuned(tmp_path, monkeypatch, raw)
    found = rt.explain("beam_sort", sort())
    assert found.to_json()["source"] == "priority"
    (reason,) = found.to_json()["refused_tables"]
    assert "cpu_ref.fast has changed since it was measured: 0123, now " in reason
    now = {"sources": {"cpu_ref.fast": reason.rpartition(" ")[2]}}
    rt, _ = tuned(tmp_path, monkeypatch, raw | now)
    assert "tuned table" in rt.bind("beam_sort", sort()).choice.source


def test_shipped_tables_are_found_by_device_then_family(tmp_path: Path) -> None:
    for device in ("this-cpu", "other-cpu"):
        (tmp_path / device).mkdir()
        write(tmp_path / device, of(device))
    for mine, whose in (("this-cpu", ""), ("third-cpu", "measured on other-cpu")):
        tables = Tables(mine, "cpu_ref")
        tables.read_shipped(specs(), tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry = tables.lookup(sort())
        assert entry is not None
        assert entry.warning.startswith(whose)
        assert bool(entry.warning) == bool(whose)
    tables = Tables("gpu", "sm_90")
    tables.read_shipped(specs(), tmp_path)
    assert (tables.lookup(sort()), tables.refused) == (None, [])


def test_a_measured_row_goes_before_the_tree(tmp_path: Path) -> None:
    row = {"features": [8], "best": 1, "us": [2.0, 1.5]}
    tables = Tables(CpuBackend().device, "cpu_ref")
    tables.read(write(tmp_path, table(rows=[row])), specs())
    entry = tables.lookup(sort(8))
    assert entry is not None
    assert (entry.kernel, entry.measured_us) == ("tests.wide", 1.5)
    assert "a measured row" in entry.source
    other = tables.lookup(sort(9))
    assert other is not None
    assert (other.kernel, other.measured_us) == ("tests.narrow", None)


def test_ratios_and_flags_are_features(tmp_path: Path) -> None:
    for feature, value, order in (("width", 4, "path"), ("order=rank", 0, "rank")):
        tables = Tables(CpuBackend().device, "cpu_ref")
        tree = {"threshold": [value + 0.5, 0, 0]}
        tables.read(write(tmp_path, table(features=[feature], tree=tree)), specs())
        found = [tables.lookup(sort(rows=rows, order=order)) for rows in (4, 5)]
        first = "tests.wide" if order == "rank" else "tests.narrow"
        assert [entry and entry.kernel for entry in found] == [first, "tests.wide"]


def test_a_config_that_the_kernel_does_not_list_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"space": lambda problem, cores, arch: [{"tile": 64}]}
    rt, _ = tuned(tmp_path, monkeypatch, table(), **facts)
    assert "does not list {'tile': 32} for this problem" in str(rt.explain("beam_sort", sort(8)))
    assert rt.bind("beam_sort", sort(99)).choice.config == {"tile": 64}


SHIPPED_PROBLEMS = {
    one.op: one
    for one in (
        Problem.of(
            "staged_attention", "bfloat16", {"ancestors": True},
            B=1, R=128, T=1024, S=2, H=16, G=8, d=128,
        ),
        Problem.of(
            "beam_step", "float32",
            {"order": "path", "normalize": "level", "trie": True, "filters": False, "lse": False},
            B=1, R=128, RO=128, K=8192,
        ),
    )
}  # fmt: skip


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*/*.json")), ids=lambda path: path.stem)
def test_shipped_tables_are_of_the_kernels_that_ship(path: Path) -> None:
    """A table is measured anew when a kernel of its op changes: an old one would be refused."""
    raw = json.loads(path.read_text())
    tables = Tables(raw["device"], raw["family"])
    tables.read_shipped(specs())
    kernels = [kernel for kernel in KERNELS if kernel.op == raw["op"]]
    entry = tables.lookup(SHIPPED_PROBLEMS[raw["op"]], kernels)
    assert tables.refused == []
    assert entry is not None
    assert entry.kernel in {kernel.name for kernel in kernels}

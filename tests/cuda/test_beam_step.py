"""beam_step beyond its cases: lists that a block does not hold, wide levels, swapped catalogues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.cuda.interpreter import QUIET, interpreted, need_interpreter
from xgr.catalog import Catalogue
from xgr.catalog.device import FilterBuffers, Served
from xgr.conformance import Outcome, prepared, run_case
from xgr.errors import InputError
from xgr.ops import spec
from xgr.ops.array import Trie, TrieLevel
from xgr.ops.spec import Case
from xgr.ops.tries import random_sids
from xgr.registry.bind import BoundContext
from xgr.runtime import Runtime, runtime

need_interpreter()
pytestmark = QUIET

SMALL_CHUNKS = {"chunk": 32, "step": 16, "opened": 1, "spare": 32}
FEW_AT_ONCE = {"chunk": 256, "step": 32, "opened": 8, "looked": 2}


def a_case(requests: int, rows: int, codes: int, out: int, **flags: str | int | bool) -> Case:
    stated: dict[str, str | int | bool] = {"level": 1, "normalize": "vocab", "order": "path"}
    sizes = {"B": requests, "R": rows, "K": codes, "RO": out}
    return Case("beam_step", sizes, flags=stated | flags)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of hundreds of keys take many turns."""
    configure(monkeypatch, SMALL_CHUNKS)


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiles of a group take several turns, and more candidates fit than are moved at once."""
    configure(monkeypatch, FEW_AT_ONCE)


def configure(monkeypatch: pytest.MonkeyPatch, config: Mapping[str, int]) -> None:
    class Context(BoundContext):
        def __init__(self, owner: Any, _: Mapping[str, int]) -> None:
            super().__init__(owner, config)

    monkeypatch.setattr(prepared, "BoundContext", Context)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("data", ["normal", "ties", "flat", "minus_inf", "nan"])
def test_lists_longer_than_a_chunk(data: str) -> None:
    case = a_case(1, 5, 90, 17, data=data, items=900, order="rank", filters="exclude")
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("data", ["ties", "flat", "minus_inf"])
@pytest.mark.parametrize("filters", ["", "exclude"])
def test_groups_of_less_than_a_tile_are_read_again(data: str, filters: str) -> None:
    """Their candidates do not fit what a request may list."""
    case = a_case(1, 13, 600, 12, data=data, children="edges", filters=filters)
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


@pytest.mark.parametrize("flags", [{"trie": False, "data": "ties"}, {"level": 0, "items": 30_000}])
def test_levels_of_wide_groups_and_many_splits(flags: dict[str, Any]) -> None:
    rows = 1 if flags.get("level") == 0 else 3
    case = a_case(1, rows, 33_000, 40, normalize="level", **flags)
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


@pytest.mark.parametrize("flags", [
    {"data": "ties", "items": 700, "filters": "exclude"},
    {"data": "nan", "normalize": "level", "order": "rank"},
    {"data": "flat", "trie": False, "normalize": "level"},
    {"data": "minus_inf", "normalize": "children", "width": "ragged"},
])  # fmt: skip
def test_a_level_of_one_row_and_many_survivors(flags: dict[str, Any]) -> None:
    """Every tile of the row is a group there."""
    case = a_case(2, 2, 1100, 300, **{"level": 0, "items": 2000} | flags)
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


@pytest.mark.parametrize("data", ["flat", "ties", "extreme"])
def test_more_tiles_than_are_opened(data: str) -> None:
    """Groups of many tiles that are all as good as the worst kept: tiles are cut too."""
    case = a_case(2, 4, 1100, 12, trie=False, data=data, normalize="none", width="ragged")
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("flags", [
    {"trie": False, "data": "ties"},
    {"trie": False, "data": "flat", "order": "rank"},
    {"data": "ties", "items": 9000, "filters": "mixed"},
])  # fmt: skip
def test_tiles_of_a_group_take_turns(flags: dict[str, str | int | bool]) -> None:
    case = a_case(2, 6, 1100, 60, width="ragged", **flags)
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


@pytest.mark.parametrize("codes", [8, 9, 64, 200, 256, 512])
@pytest.mark.parametrize("flags", [
    {"trie": False, "data": "ties"},
    {"trie": False, "data": "minus_inf", "normalize": "level"},
    {"trie": False, "data": "nan", "normalize": "none"},
    {"data": "normal", "items": 3000, "filters": "mixed", "order": "rank"},
    {"data": "plus_inf", "items": 40_000, "normalize": "level"},
])  # fmt: skip
def test_small_codebooks(codes: int, flags: dict[str, str | int | bool]) -> None:
    """Groups are parts of a tile, of rows that are read whole too."""
    case = a_case(2, 12, codes, 40, width="ragged", **flags)
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


def test_children_are_all_codes_of_some_rows() -> None:
    """Those rows are read as they are, the others through the codes of their children."""
    case = a_case(2, 6, 9, 20, items=180, data="nan", normalize="none")
    result = run_case(interpreted(), "cuda.triton", case)
    assert result.outcome is Outcome.OK, result.notes


def test_a_recorded_launch_follows_a_swap() -> None:
    """A graph repeats what it was recorded with: the arrays of the first catalogue are gone."""
    rng, sizes, found = np.random.default_rng(0), (6, 30, 7), []
    rt = interpreted()
    served, buffers = Served(rt, masks=2), FilterBuffers(rt, 3, 2, 64)
    arguments = laid(spec("beam_step").build(a_case(2, 8, 30, 12)), rt)
    recorded: dict[str, Any] = {}
    for items in (60, 500):
        catalogue = Catalogue.from_sids(random_sids(rng, sizes, items), level_sizes=sizes)
        catalogue.register_filter("odd", allow=range(1, 40, 2))
        filters = [catalogue.filter(named=["odd"]), catalogue.filter(exclude=range(30))]
        served.words(catalogue)
        trie = without_arrays(served.trie(catalogue))
        buffers.write(filters, served)
        recorded = recorded or {"trie": trie, "filters": buffers.over(())}
        got = outputs_of(rt, {**arguments, **recorded})

        cpu = runtime("cpu")
        held, space = Served(cpu, masks=2), FilterBuffers(cpu, 3, 2, 64)
        words = held.words(catalogue)
        space.write(filters, held)
        given = {"trie": held.trie(catalogue), "filters": space.over(words)}
        host = laid(spec("beam_step").build(a_case(2, 8, 30, 12)), cpu)
        want = outputs_of(cpu, {**host, **given})
        for name, value in want.items():
            np.testing.assert_array_equal(got[name], value, err_msg=name)
        found.append(want["node_out"])
    assert not np.array_equal(*found)


def test_a_level_that_does_not_fit_is_refused() -> None:
    rt = interpreted()
    arguments = laid(spec("beam_step").build(a_case(2, 8, 30, 12)), rt)
    level = TrieLevel(rt.upload([0]), None)
    with pytest.raises(InputError, match="has 31 codes, and the scores have 30 columns"):
        outputs_of(rt, {**arguments, "trie": Trie((level,) * 3, (6, 31, 7), "wide")})
    with pytest.raises(InputError, match="level 1 of a catalogue with 1 levels"):
        outputs_of(rt, {**arguments, "trie": Trie((level,), (30,), "short")})


def laid(host: Mapping[str, Any], rt: Runtime) -> dict[str, Any]:
    """The arrays of a case on a device."""
    return {
        name: rt.upload(value) if isinstance(value, np.ndarray) else value
        for name, value in host.items()
    }


def without_arrays(trie: Trie) -> Trie:
    """All that a recorded launch has of a catalogue."""
    nothing: Any = None
    return replace(trie, levels=(TrieLevel(nothing, nothing),) * len(trie.levels))


def outputs_of(rt: Runtime, arguments: dict[str, Any]) -> dict[str, Any]:
    outputs: dict[str, Any] = {n: rt.upload([9] * 12) for n in ("parent", "code", "node_out")}
    outputs |= {"cumulative_out": rt.upload([9.0] * 12), "live_out": rt.upload([9, 9])}
    problem = spec("beam_step").problem({**arguments, **outputs}, "float32")
    rt.bind("beam_step", problem)(**arguments, **outputs)
    return {name: rt.fetch(value) for name, value in outputs.items()}

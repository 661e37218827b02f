"""Random shapes and numbers against the definitions."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ascend.emulator import ops
from tests.ascend.emulator.built import need_compiler
from tests.ascend.emulator.machine import Order
from tests.ascend.emulator.test_orders import agrees, values_of
from xgr.ops.spec import Case, Flag

need_compiler()

MANY = settings(max_examples=60, deadline=None)
DATA = ["normal", "ties", "flat", "peaked", "extreme", "low", "minus_inf", "nan", "plus_inf"]


def rows_for(draw: Any, requests: int, most: int) -> int:
    """Rows that give each request one at least."""
    return int(draw(st.integers(requests + 1, most)))


@st.composite
def beams(draw: Any) -> Case:
    requests = draw(st.integers(1, 5))
    sizes = {"B": requests, "R": rows_for(draw, requests, 40)}
    flags: dict[str, Flag] = {
        "order": draw(st.sampled_from(["path", "rank"])),
        "data": draw(st.sampled_from(DATA)),
        "live": draw(st.sampled_from(["all", "some"])),
        "width": draw(st.sampled_from(["full", "ragged", "over"])),
    }
    columns = draw(st.integers(1, 500))
    wide = rows_for(draw, requests, 300)
    sizes |= {"C": columns, "RO": wide}
    return Case("beam_sort", sizes, flags=flags, seed=draw(st.integers(0, 1 << 20)))


@st.composite
def steps(draw: Any) -> Case:
    requests, level = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    rows = rows_for(draw, requests, 20) if level else requests
    sizes = {"B": requests, "R": rows, "K": draw(st.integers(1, 200))}
    sizes["RO"] = rows_for(draw, requests, 100)
    flags: dict[str, Flag] = {
        "level": level,
        "order": draw(st.sampled_from(["path", "rank"])),
        "normalize": draw(st.sampled_from(["vocab", "level", "children", "none"])),
        "data": draw(st.sampled_from(DATA)),
        "items": draw(st.sampled_from([20, 150, 3000])),
    }
    if draw(st.booleans()):
        flags["filters"] = draw(st.sampled_from(["exclude", "allow", "mask", "mixed", "nothing"]))
    large = flags["data"] in {"extreme", "low"}  # beyond what float16 holds
    dtype = draw(st.sampled_from(["float32"] if large else ["float32", "float16", "bfloat16"]))
    return Case("beam_step", sizes, dtype, flags, draw(st.integers(0, 1 << 20)))


@st.composite
def moves(draw: Any) -> Case:
    requests = draw(st.integers(1, 5))
    sizes = {
        "L": draw(st.integers(1, 3)),
        "R": rows_for(draw, requests, 60),
        "S": 3,
        "G": draw(st.integers(1, 3)),
        "d": draw(st.sampled_from([1, 8, 16, 40, 64])),
        "B": requests,
    }
    kinds = ["random", "first", "last", "own", "unsorted", "below", "above"]
    flags: dict[str, Flag] = {"step": draw(st.integers(0, 3))}
    flags["parents"] = draw(st.sampled_from(kinds))
    # a request whose parents are wrong has rows to have them
    flags["live"] = "all" if flags["parents"] in kinds[4:] else "mixed"
    dtype = draw(st.sampled_from(["float32", "float16", "bfloat16"]))
    return Case("kv_reorder", sizes, dtype, flags, draw(st.integers(0, 1 << 20)))


@MANY
@given(case=beams(), cores=st.integers(1, 9))
def test_beam_sort(case: Case, cores: int) -> None:
    values, want, _ = values_of(case)
    ops.beam_sort(**values, cores=cores, order_of_cores=Order(case.seed))
    agrees(case, values, want)


@MANY
@given(case=steps(), cores=st.integers(1, 9))
def test_beam_step(case: Case, cores: int) -> None:
    values, want, _ = values_of(case)
    ops.beam_step(**values, cores=cores, order_of_cores=Order(case.seed))
    agrees(case, values, want)


@MANY
@given(case=moves(), cores=st.integers(1, 9))
def test_kv_reorder(case: Case, cores: int) -> None:
    values, want, _ = values_of(case)
    if case.flags["parents"] == "unsorted" and values["live"][0] < 2:
        return  # one row is in order whatever its parent
    ops.kv_reorder(**values, cores=cores, order_of_cores=Order(case.seed))
    agrees(case, values, want)

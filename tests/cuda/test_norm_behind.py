"""What rows beyond the cache are divided into, on small cases."""

from __future__ import annotations

import pytest

from tests.cuda.interpreter import QUIET, interpreted, need_interpreter
from tests.cuda.test_interpreted import is_small
from xgr.conformance import Outcome, run_case
from xgr.conformance.entries import cases_of
from xgr.conformance.gaps import read_gaps
from xgr.ops.spec import Case, Problem

need_interpreter()
pytestmark = QUIET

from xgr.backends.cuda.model_ops import norm_behind  # noqa: E402

OPS = ("normed_swiglu", "rope_kv", "rope_paged", "rope_prefill")
CASES = [
    case
    for op in OPS
    for case in cases_of(op)
    if ("h" in case.sizes or "hidden" in case.flags) and is_small(case)
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norm_behind, "_CACHED", -1)
    rt = interpreted()
    result = run_case(rt, "cuda.triton", case, read_gaps(type(rt.backend)))
    assert result.outcome is not Outcome.FAIL, "\n".join(result.notes)


def test_every_op_has_cases() -> None:
    assert {case.op for case in CASES} == set(OPS)


def test_rows_are_read_once_where_they_are_many() -> None:
    def gate(rows: int, kind: str = "bfloat16") -> bool:
        problem = Problem.of("normed_swiglu", kind, N=rows, I=3072, h=1024)
        return norm_behind.reads_again(problem)

    assert [gate(rows) for rows in (128, 1024, 2048, 4096, 16384)] == [False] * 3 + [True] * 2
    assert gate(2048, "float32")

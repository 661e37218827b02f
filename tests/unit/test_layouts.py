"""The case tables reach the layouts that they claim, and stay small."""

from __future__ import annotations

import numpy as np
import pytest

from xgr.ops import layouts, specs
from xgr.ops.spec import Case

WITH_ROWS = ["shared_attention", "unshared_attention", "staged_attention", "rope_kv", "kv_reorder"]


def test_case_splits_changes_into_axes_and_flags() -> None:
    case = layouts.case("linear", {"N": 1, "I": 2}, "float16", N=5, bias=True)
    assert case == Case("linear", {"N": 5, "I": 2}, "float16", {"bias": True})


@pytest.mark.parametrize("op", WITH_ROWS)
def test_rows_reach_dead_single_some_and_all(op: str) -> None:
    seen: set[str] = set()
    for case in specs()[op].cases():
        batch = layouts.rows(case, np.random.default_rng(case.seed))
        row_start, live = batch["row_start"], batch["live"]
        width = np.diff(row_start)
        assert row_start[0] == 0
        assert (width > 0).all()
        assert (live >= 0).all()
        assert (live <= width).all()
        assert row_start[-1] <= case.sizes["R"]
        seen |= {"nobody"} if row_start[-1] < case.sizes["R"] else set()
        for count, wide in zip(live, width, strict=True):
            seen.add("none" if count == 0 else "all" if count == wide else "some")
    assert seen == {"nobody", "none", "some", "all"}


@pytest.mark.parametrize("op", ["shared_attention", "staged_attention", "prefill_attention"])
def test_prompts_fit_apart_and_reach_empty_and_single(op: str) -> None:
    lengths: set[int] = set()
    for case in specs()[op].cases():
        batch = layouts.prompts(case, np.random.default_rng(case.seed))
        taken = np.zeros(case.sizes["T"], np.int64)
        for start, length in zip(batch["prompt_start"], batch["prompt_len"], strict=True):
            assert start + length <= case.sizes["T"]
            taken[start : start + length] += 1
        assert taken.max() <= 1
        lengths |= set(batch["prompt_len"].tolist())
    assert {0, 1} <= lengths


def test_queries_are_at_most_the_prompt_and_reach_a_cached_prefix() -> None:
    cached = 0
    for case in specs()["prefill_attention"].cases():
        rng = np.random.default_rng(case.seed)
        batch = layouts.prompts(case, rng)
        counts = np.diff(layouts.queries(case, batch, rng)["q_start"])
        assert (counts <= batch["prompt_len"]).all()
        cached += int((counts < batch["prompt_len"]).any())
    assert cached > 0


@pytest.mark.parametrize("op", sorted(specs()))
def test_ids_are_distinct(op: str) -> None:
    ids = [case.id for case in specs()[op].cases()]
    assert len(ids) == len(set(ids))

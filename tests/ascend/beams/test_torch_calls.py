"""The beam ops as torch calls, held to their definitions on CPU tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.ascend.beams.on_cpu import TORCH_CALLS, on_cpu
from xgr.backends.ascend import graph
from xgr.backends.ascend.aten.swaps import Swaps
from xgr.catalog import Catalogue
from xgr.catalog.device import Served, upload_trie
from xgr.conformance.entries import cases_of
from xgr.conformance.laid import with_outputs
from xgr.conformance.runner import Outcome, run_case
from xgr.errors import InputError, Unsupported
from xgr.ops import spec
from xgr.ops.array import TrieLevel
from xgr.ops.spec import Case, Problem
from xgr.ops.tries import random_sids

OPS = [kernel.op for kernel in TORCH_CALLS]
SEARCHED = ["beam_step", "beam_sort", "mask_filter", "kv_reorder"]


@pytest.mark.parametrize("op", OPS)
def test_every_case_agrees_with_the_definition(op: str) -> None:
    results = [run_case(on_cpu(), "ascend.torch", case) for case in cases_of(op)]

    assert results
    assert [(r.case.id, r.notes) for r in results if r.outcome is not Outcome.OK] == []


@pytest.mark.parametrize("op", SEARCHED)
def test_searched_ops_are_made_of_torch_calls_only_when_asked(op: str) -> None:
    problem, _ = posed(cases_of(op)[0])

    with pytest.raises(Unsupported, match=f"XGR_KERNEL={op}=ascend.torch"):
        on_cpu().bind(op, problem)
    assert on_cpu().bind(op, problem, "ascend.torch").choice.source == "kernel= argument"


@pytest.mark.parametrize("width", [1, 40, 90])
def test_only_what_may_survive_of_a_row_is_sorted_again(width: int) -> None:
    """Rows of more candidates than survive, all equal: the first of the first rows win."""
    flags: dict[str, str | int | bool] = {"order": "path", "data": "flat", "live": "some"}
    case = Case("beam_sort", {"B": 2, "R": 12, "C": 700, "RO": 2 * width}, flags=flags)

    result = run_case(on_cpu(), "ascend.torch", case)

    assert result.outcome is Outcome.OK, result.notes


def test_a_swapped_catalogue_and_its_masks_are_noticed() -> None:
    """What a captured graph has of the trie is out of date from then on."""
    rng, sizes = np.random.default_rng(0), (4, 9, 7)
    one, other = (
        Catalogue.from_sids(random_sids(rng, sizes, items), level_sizes=sizes) for items in (60, 90)
    )
    served, swaps = Served(on_cpu(), masks=1), Swaps()
    swaps.follow(served.trie(one))
    seen = [swaps.layout]
    served.trie(one)
    assert swaps.layout == seen[0]

    served.words(one)
    seen.append(swaps.layout)
    served.trie(other)
    seen.append(swaps.layout)

    assert len(set(seen)) == 3


def test_a_trie_without_a_descriptor_never_changes() -> None:
    sizes = (4, 9, 7)
    sids = random_sids(np.random.default_rng(0), sizes, 60)
    swaps = Swaps()

    swaps.follow(upload_trie(on_cpu(), Catalogue.from_sids(sids, level_sizes=sizes)))

    assert swaps.layout == 0


def test_a_graph_is_refused_where_writes_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []
    monkeypatch.setattr(graph, "refuse", refused.append)
    sizes = (4, 9, 7)
    catalogue = Catalogue.from_sids(
        random_sids(np.random.default_rng(0), sizes, 60), level_sizes=sizes
    )
    with torch.inference_mode():
        Swaps().follow(Served(on_cpu(), masks=1).trie(catalogue))

    assert len(refused) == 1
    assert "inference_mode" in refused[0]


def test_a_level_that_does_not_fit_is_refused() -> None:
    case = cases_of("mask_filter")[0]
    problem, arguments = posed(case)
    launch = on_cpu().bind("mask_filter", problem, "ascend.torch")

    with pytest.raises(InputError, match="level 3 of a catalogue with 3 levels"):
        launch(**{**arguments, "level": 3})
    narrow = Problem.of("mask_filter", "float32", dict(problem.flags), B=2, R=2, K=10)
    with pytest.raises(InputError, match="has 11 codes, and the scores have 10 columns"):
        on_cpu().bind("mask_filter", narrow, "ascend.torch")(**arguments)


def test_a_missing_lse_is_named() -> None:
    case = next(c for c in cases_of("beam_step") if c.flags["normalize"] == "vocab")
    problem, arguments = posed(case)
    launch = on_cpu().bind("beam_step", problem, "ascend.torch")

    with pytest.raises(InputError, match="needs the argument lse"):
        launch(**{**arguments, "lse": None})


def posed(case: Case) -> tuple[Problem, dict[str, Any]]:
    """The problem of a case, and its arguments as CPU tensors."""
    declared = spec(case.op)
    host = with_outputs(declared, declared.build(case), case.sizes, case.dtype)
    rt = on_cpu()
    arguments = {n: rt.upload(v) if isinstance(v, np.ndarray) else v for n, v in host.items()}
    trie = host.get("trie")
    if trie is not None:
        levels = tuple(
            TrieLevel(rt.upload(one.code), _uploaded(one.first_child)) for one in trie.levels
        )
        arguments["trie"] = replace(trie, levels=levels)
    return declared.problem(host, case.dtype), arguments


def _uploaded(values: Any) -> Any:
    return None if values is None else on_cpu().upload(values)

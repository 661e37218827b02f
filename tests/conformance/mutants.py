"""Kernels that are wrong in the ways that real systems have been: the cases must catch each."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from xgr.backends.cpu_ref.fast import unshared_attention as fast_unshared
from xgr.backends.cpu_ref.reference.beam_sort import beam_sort
from xgr.backends.cpu_ref.reference.beam_step import beam_step, log_sum_exp
from xgr.backends.cpu_ref.reference.mask_filter import mask_filter
from xgr.ops.array import Trie
from xgr.ops.spec import Problem
from xgr.ops.tries import children_of
from xgr.registry.kernel import Context, Launcher

Values = Any
# op, wrong kernel: every mutant of this file by name
MUTANTS: dict[str, tuple[str, Callable[..., None]]] = {}


def mutant(op: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def note(wrong: Callable[..., None]) -> Callable[..., None]:
        MUTANTS[wrong.__name__] = (op, wrong)
        return wrong

    return note


@mutant("beam_sort")
def ties_go_to_the_greater_code(*, scores: Values, code: Values, **rest: Values) -> None:
    beam_sort(scores=scores[:, ::-1], code=code, **rest)
    alive = np.isfinite(rest["score"])
    code[alive] = scores.shape[1] - 1 - code[alive]
    if rest["order"] == "path":
        for first, count in zip(rest["row_start_out"], rest["live_out"], strict=False):
            rows = slice(first, first + count)
            path = np.lexsort((code[rows], rest["parent"][rows]))
            for name in ("parent", "score"):
                rest[name][rows] = rest[name][rows][path]
            code[rows] = code[rows][path]


@mutant("beam_sort")
def parent_by_the_beam_width(*, parent: Values, code: Values, **rest: Values) -> None:
    beam_sort(parent=parent, code=code, **rest)
    columns = rest["scores"].shape[1]
    for request, width in enumerate(rest["out_width"]):
        first = rest["row_start_out"][request]
        rows = slice(first, first + rest["live_out"][request])
        base = rest["row_start"][request]
        index = (parent[rows] - base) * columns + code[rows]
        # candidates a beam are not beams a request
        parent[rows] = index // max(width, 1) + base


@mutant("beam_sort")
def width_of_the_server(*, out_width: Values, row_start_out: Values, **rest: Values) -> None:
    beam_sort(out_width=np.diff(row_start_out), row_start_out=row_start_out, **rest)


@mutant("beam_sort")
def ranks_by_half_a_float(*, scores: Values, **rest: Values) -> None:
    with np.errstate(over="ignore"):
        beam_sort(scores=scores.astype(np.float16).astype(np.float32), **rest)


@mutant("beam_sort")
def dead_rows_take_part(*, live: Values, row_start: Values, **rest: Values) -> None:
    beam_sort(live=np.diff(row_start), row_start=row_start, **rest)


@mutant("beam_sort")
def one_nan_empties_the_batch(*, live_out: Values, score: Values, **rest: Values) -> None:
    beam_sort(live_out=live_out, score=score, **rest)
    if np.isnan(rest["scores"]).any():
        live_out[...] = 0


@mutant("mask_filter")
def rows_outside_of_the_catalogue_are_free(*, node: Values, out: Values, **rest: Values) -> None:
    mask_filter(node=node, out=out, **rest)
    for first, count in zip(rest["row_start"], rest["live"], strict=False):
        for row in range(first, first + count):
            if node[row] < 0:
                out[row] = rest["scores"][row]


@mutant("mask_filter")
def last_row_is_not_masked(*, out: Values, **rest: Values) -> None:
    mask_filter(out=out, **rest)
    for first, count in zip(rest["row_start"], rest["live"], strict=False):
        if count:
            out[first + count - 1] = rest["scores"][first + count - 1]


@mutant("mask_filter")
def filters_are_forgotten(*, filters: Values = None, **rest: Values) -> None:
    mask_filter(**rest)


@mutant("mask_filter")
def shared_masks_are_forgotten(*, filters: Values = None, **rest: Values) -> None:
    if filters is not None:
        filters = replace(filters, mask=np.full_like(filters.mask, -1))
    mask_filter(filters=filters, **rest)


@mutant("mask_filter")
def the_last_code_is_refused(*, out: Values, **rest: Values) -> None:
    mask_filter(out=out, **rest)
    out[:, -1] = -np.inf


@mutant("mask_filter")
def a_low_score_is_no_score(*, out: Values, **rest: Values) -> None:
    mask_filter(out=out, **rest)
    out[out <= -1e30] = -np.inf


@mutant("beam_step")
def writes_past_the_end(*, parent: Values, **rest: Values) -> None:
    beam_step(parent=parent, **rest)
    np.lib.stride_tricks.as_strided(parent, (len(parent) + 1,))[-1] = 0


@mutant("beam_step")
def spoils_its_input(*, logits: Values, **rest: Values) -> None:
    beam_step(logits=logits, **rest)
    logits[np.isnan(logits)] = 0


@mutant("beam_step")
def masks_after_the_selection(
    *, trie: Trie | None, filters: Values = None, level: int, **rest: Values
) -> None:
    beam_step(trie=None, level=level, **rest)
    if trie is None:
        return
    nodes = _step_down(trie, level, **rest)
    for request, first in enumerate(rest["row_start_out"][:-1]):
        chosen = np.arange(first, first + rest["live_out"][request])
        legal = chosen[nodes[chosen] >= 0]
        kept, gone = np.split(chosen, [len(legal)])
        for name in ("parent", "code", "cumulative_out"):
            rest[name][kept] = rest[name][legal]
        rest["node_out"][kept] = nodes[legal]
        rest["parent"][gone], rest["code"][gone] = rest["row_start"][request], 0
        rest["node_out"][gone], rest["cumulative_out"][gone] = -1, -np.inf
        rest["live_out"][request] = len(kept)


@mutant("beam_step")
def adds_a_penalty_instead_of_a_mask(
    *, logits: Values, trie: Trie | None, filters: Values = None, level: int, **rest: Values
) -> None:
    masked = logits.astype(np.float32)
    if trie is not None:
        for first, count in zip(rest["row_start"], rest["live"], strict=False):
            for row in range(first, first + count):
                illegal = np.ones(logits.shape[1], np.bool_)
                illegal[_children(trie, level, rest["node"][row])] = False
                masked[row, illegal] -= 10_000
    beam_step(logits=masked, trie=None, level=level, **rest)
    if trie is not None:
        rest["node_out"][...] = _step_down(trie, level, **rest)


def _children(trie: Trie, level: int, node: int) -> Values:
    exists = level == 0 or 0 <= node < len(np.asarray(trie.levels[level - 1].code))
    return children_of(trie, level, int(node)) if exists else np.empty(0, np.int32)


def _step_down(trie: Trie, level: int, **rest: Values) -> Values:
    """Child node of each output row, -1 where there is none."""
    nodes = np.full(len(rest["code"]), -1, np.int32)
    for first, count in zip(rest["row_start_out"], rest["live_out"], strict=False):
        for row in range(first, first + count):
            above = int(rest["node"][rest["parent"][row]])
            found = np.flatnonzero(_children(trie, level, above) == rest["code"][row])
            if len(found):
                low = 0 if level == 0 else np.asarray(trie.levels[level - 1].first_child)[above]
                nodes[row] = low + found[0]
    return nodes


@mutant("beam_step")
def normalises_over_the_best_only(*, logits: Values, normalize: str, **rest: Values) -> None:
    if normalize != "level":
        beam_step(logits=logits, normalize=normalize, **rest)
        return
    best = np.sort(np.nan_to_num(logits.astype(np.float32), nan=0))[:, -8:]
    lse = np.array([log_sum_exp(row) for row in best])
    rest.pop("lse", None)
    beam_step(logits=logits, lse=lse, normalize="vocab", **rest)


@mutant("beam_step")
def reads_the_row_of_another_request(*, lse: Values = None, **rest: Values) -> None:
    beam_step(lse=None if lse is None else np.roll(np.nan_to_num(lse), 1), **rest)


@mutant("beam_step")
def overwrites_the_status(*, status: Values, **rest: Values) -> None:
    status[...] = 0
    beam_step(status=status, **rest)


@mutant("beam_step")
def emits_no_nodes_of_the_next_level(*, node_out: Values, **rest: Values) -> None:
    beam_step(node_out=node_out, **rest)
    alive = np.isfinite(rest["cumulative_out"])
    node_out[alive] = np.maximum(node_out[alive] - 1, 0)


class Forgetful:
    """Right the first time it runs, wrong after that: a workspace that is not cleared."""

    def __init__(self) -> None:
        self.launches = 0

    def __call__(self, *, live_out: Values, **rest: Values) -> None:
        beam_step(live_out=live_out, **rest)
        live_out += np.int32(self.launches)
        self.launches += 1


@mutant("merge_attention")
def merges_nothing_to_nan(*, outs: Values, lses: Values, out: Values, lse: Values) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        lse[...] = np.logaddexp.reduce([one.astype(np.float64) for one in lses])
        parts = zip(outs, lses, strict=True)
        out[...] = sum(o.astype(np.float32) * np.exp(s - lse)[..., None] for o, s in parts)


def one_step_short(problem: Problem, context: Context) -> Launcher:
    """Attention that leaves out the newest token, a row's own."""
    launch = fast_unshared.build(problem, context)

    def short(*, step: int, **rest: Values) -> None:
        launch(step=max(step - 1, 0), **rest)

    return short


@mutant("linear_add")
def product_rounded_before_it_is_added(*, x: Values, weight: Values, residual: Values) -> None:
    product = x.astype(np.float64) @ weight.astype(np.float64).T
    residual[...] = residual.astype(np.float64) + product.astype(residual.dtype).astype(np.float64)

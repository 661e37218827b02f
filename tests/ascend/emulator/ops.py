"""The ops on emulated kernels: from the arguments of a declaration to a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ascend.emulator.level import Level
from tests.ascend.emulator.machine import Launch, Order, elements, tiling
from xgr.ops.array import Filters, Trie

Array = NDArray[Any]


def kv_reorder(
    *,
    k: Array,
    v: Array,
    parent: Array,
    row_start: Array,
    live: Array,
    status: Array,
    step: int,
    cores: int = 5,
    order_of_cores: Order | None = None,
    fault: str = "",
    words: Array | None = None,
) -> None:
    """kv_reorder in place on host arrays."""
    layers, rows, slots, groups, size = k.shape
    if words is None:
        words = tiling(
            "kv_reorder", len(live), layers, rows, slots, groups, size, k.itemsize, step, cores
        )
    launch = Launch().array("k", k, "inout").array("v", v, "inout").array("parent", parent)
    launch.array("row_start", row_start).array("live", live).array("status", status, "inout")
    launch.array("tiling", words)
    launch.integers(*elements(k, range(4)), *elements(v, range(4))).integers(step, bits=32)
    launch.run("kv_reorder", int(words[1]), order_of_cores, fault)


def beam_sort(
    *,
    scores: Array,
    cumulative: Array,
    row_start: Array,
    live: Array,
    row_start_out: Array,
    out_width: Array,
    order: str,
    parent: Array,
    code: Array,
    score: Array,
    live_out: Array,
    **rest: Any,
) -> None:
    """beam_sort on host arrays, by beam_topk with neither nodes nor status."""
    beam_topk(
        scores=scores,
        cumulative=cumulative,
        row_start=row_start,
        live=live,
        row_start_out=row_start_out,
        out_width=out_width,
        ranked=order == "rank",
        parent=parent,
        code=code,
        score=score,
        live_out=live_out,
        **rest,
    )


def beam_topk(
    *,
    scores: Array,
    cumulative: Array,
    row_start: Array,
    live: Array,
    row_start_out: Array,
    out_width: Array,
    ranked: bool,
    parent: Array,
    code: Array,
    score: Array,
    live_out: Array,
    node: Array | None = None,
    node_out: Array | None = None,
    status: Array | None = None,
    level: Level | None = None,
    cores: int = 5,
    order_of_cores: Order | None = None,
    fault: str = "",
    words: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """beam_topk on host arrays; the workspace it left."""
    level = level or Level()
    if words is None:
        words = tiling("beam_topk", len(live), *scores.shape, len(parent), cores)
    if workspace is None:
        workspace = np.full(int(words[0]), 0xA5, np.uint8)
    launch = Launch().array("scores", scores).array("cumulative", cumulative)
    launch.array("row_start", row_start).array("live", live)
    launch.array("row_start_out", row_start_out).array("out_width", out_width)
    launch.array("node", node)
    level.catalogue(launch)
    launch.array("tiling", words).array("workspace", workspace, "out")
    launch.array("parent", parent, "out").array("code", code, "out")
    launch.array("node_out", node_out, "out").array("score", score, "out")
    launch.array("live_out", live_out, "out").array("status", status, "inout")
    launch.integers(elements(scores, [0])[0], level.nodes_here, level.nodes_above)
    launch.integers(level.number, int(ranked), bits=32)
    launch.run_phases("beam_topk", 3 if ranked else 2, int(words[1]), order_of_cores, fault)
    return workspace


NORMALIZE = {"none": 0, "vocab": 1, "level": 2, "children": 3}
TYPES = {"float32": 0, "float16": 1, "bfloat16": 2}


def mask_filter(
    *,
    scores: Array,
    node: Array,
    row_start: Array,
    live: Array,
    trie: Trie | None,
    level: int,
    out: Array,
    filters: Filters | None = None,
    lse: Array | None = None,
    normalize: str = "none",
    described: bool = False,
    cores: int = 5,
    order_of_cores: Order | None = None,
    fault: str = "",
    words: Array | None = None,
) -> None:
    """mask_filter on host arrays, with scores of any model type and normalised as asked."""
    here = Level(level, trie, filters, described)
    if words is None:
        words = tiling("mask_filter", len(live), *scores.shape, cores)
    launch = Launch()
    if out is not scores:
        launch.array("scores", scores)
    else:
        launch.array("scores", scores, "inout")
    launch.array("lse", lse).array("node", node)
    launch.array("row_start", row_start).array("live", live)
    here.catalogue(launch)
    here.filter_arguments(launch)
    launch.array("tiling", words)
    launch.array("out", out, "out" if out is not scores else "inout")
    launch.integers(elements(scores, [0])[0], elements(out, [0])[0])
    launch.integers(here.nodes_here, here.nodes_above, here.mask_pitch)
    launch.integers(level, NORMALIZE[normalize], TYPES[scores.dtype.name], bits=32)
    launch.run("mask_filter", int(words[1]), order_of_cores, fault)


def beam_step(
    *,
    logits: Array,
    lse: Array | None,
    cumulative: Array,
    node: Array,
    row_start: Array,
    live: Array,
    row_start_out: Array,
    out_width: Array,
    trie: Trie | None,
    filters: Filters | None,
    parent: Array,
    code: Array,
    node_out: Array,
    cumulative_out: Array,
    live_out: Array,
    status: Array,
    level: int,
    normalize: str,
    order: str,
    **rest: Any,
) -> None:
    """beam_step on host arrays, as mask_filter and beam_topk."""
    described = len(live) % 2 == 0
    legal = np.full(logits.shape, 7, np.float32)
    mask_filter(
        scores=logits,
        node=node,
        row_start=row_start,
        live=live,
        trie=trie,
        level=level,
        out=legal,
        filters=filters,
        lse=lse,
        normalize=normalize,
        described=described,
        **rest,
    )
    beam_topk(
        scores=legal,
        cumulative=cumulative,
        row_start=row_start,
        live=live,
        row_start_out=row_start_out,
        out_width=out_width,
        ranked=order == "rank",
        parent=parent,
        code=code,
        score=cumulative_out,
        live_out=live_out,
        node=node,
        node_out=node_out,
        status=status,
        level=Level(level, trie, filters, described),
        **rest,
    )


def padded(value: Array) -> Array:
    """The same values in a view whose rows lie three elements apart."""
    *outer, last = value.shape
    wide = np.full((*outer, last + 3), 77, value.dtype)
    wide[..., :last] = value
    return wide[..., :last]

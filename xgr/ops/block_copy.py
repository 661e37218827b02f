"""The baseline's copy on write: blocks of a paged K/V cache in all layers, in one launch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import exact
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Values


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Bytes to move where every pair is a copy."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 4 * item * a["L"] * a["N"] * a["BT"] * a["G"] * a["d"]


def cases() -> Iterable[Case]:
    """Few and many copies, one source of many targets, and none at all."""
    base = {"L": 2, "NP": 16, "BT": 4, "G": 2, "d": 16, "N": 7}
    case = partial(layouts.case, "block_copy", base)
    for kind in MODEL_DTYPES:
        yield case(kind, copies="some")
        yield case(kind, copies="all", strided=True)
    yield case(copies="none")
    yield case(copies="one source")
    for tokens in (1, 2, 16, 32):
        yield case("bfloat16", BT=tokens, copies="some")
    for count in (1, 33, 600):
        yield case("bfloat16", NP=2 * count, BT=2, G=1, N=count, copies="some")
    for size in (64, 96, 128):
        yield case("bfloat16", L=1, d=size, copies="all")


def build(case: Case) -> Values:
    """Host inputs of a case; blocks that are not copied are targets of nobody."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    kind = case.flags["copies"]
    drawn = rng.permutation(a["NP"]).astype(np.int32)
    target, source = drawn[: a["N"]].copy(), rng.choice(drawn[a["N"] :], a["N"]).astype(np.int32)
    if kind == "one source":
        source[:] = source[0]
    skipped = np.zeros(a["N"], np.bool_)
    if kind in {"some", "none"}:
        skipped = rng.random(a["N"]) < 0.5 if kind == "some" else ~skipped
    target[skipped], source[skipped] = -1, 1 << 30
    return {
        "k": layouts.normal(rng, case, "L NP BT G d"),
        "v": layouts.normal(rng, case, "L NP BT G d"),
        "source": source,
        "target": target,
    }


SPEC = OpSpec(
    name="block_copy",
    doc=(
        "k[l, target[i]] = k[l, source[i]] for all layers l and pairs i with target[i] >= 0, "
        "whole blocks; v likewise. No block is the target of two pairs, or source and "
        "target. Other blocks are not touched."
    ),
    args=(
        Arg("k", "L NP BT G d", role="inout"),
        Arg("v", "L NP BT G d", role="inout"),
        Arg("source", "N", "int32"),
        Arg("target", "N", "int32"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=exact("k", "v"),
)

"""The baseline: attention of each row, a sequence of its own, over a paged K/V cache."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts, paging
from xgr.ops.compare import close
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Floating point operations of rows whose tables are full."""
    a = problem.sizes
    return 4 * a["R"] * a["H"] * a["d"] * a["MB"] * a["BT"]


def bytes_moved(problem: Problem) -> int:
    """Bytes of rows whose tables are full: each reads all of its blocks."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    kv = 2 * a["MB"] * a["BT"] * a["G"]
    return a["R"] * (item * a["d"] * (kv + 2 * a["H"]) + 4 * a["H"] + 4 * a["MB"])


def cases() -> Iterable[Case]:
    """Lengths on both sides of a block and of a tile, head sizes and groups."""
    base = {"R": 13, "H": 4, "G": 2, "d": 64, "NP": 24, "BT": 4, "MB": 5, "B": 3}
    case = partial(layouts.case, "paged_attention", base)
    for kind in MODEL_DTYPES:
        yield case(kind, step=2, spare=4)
        yield case(kind, step=1, live="all", strided=True)
    for step in range(4):
        yield case(step=step, live="all")
    for tokens in (1, 2, 8, 16, 32):
        yield case("bfloat16", R=5, B=1, BT=tokens, step=2, prompt="full")
    for columns in (1, 2, 9, 17, 40):
        yield case("bfloat16", R=3, B=1, NP=64, BT=16, MB=columns, step=1, prompt="full")
    for size in (16, 96, 128, 256):
        yield case("bfloat16", R=5, B=2, d=size, step=2)
    for heads, groups in ((3, 3), (16, 1), (12, 4)):
        yield case("bfloat16", R=5, B=2, H=heads, G=groups, step=2)
    for width in (33, 129, 513):
        yield case("bfloat16", R=width, B=1, H=1, G=1, d=16, step=1)
    yield case(step=2, gain=50)
    yield case(step=2, live="none")
    yield case(step=0, prompt="empty")
    # more rows times heads than a device has cores, in requests of two beams
    yield case("bfloat16", R=80, H=8, d=16, NP=90, B=40, step=2)
    yield case(step=2, nan=True, live="all")


def build(case: Case) -> Values:
    """Host inputs of a case; keys that no live row sees and dead queries are NaN.

    Rows share their prompts' full blocks. With `nan`, so are the queries of the last request.
    """
    rng, a = np.random.default_rng(case.seed), case.sizes
    step, batch = int(case.flags["step"]), layouts.rows(case, rng)
    lengths, table = paging.tables(case, batch, rng)
    q = layouts.normal(rng, case, "R H d", gain=case.flags.get("gain", 1))
    k, v = (layouts.normal(rng, case, "NP BT G d") for _ in range(2))
    q[layouts.dead(batch, a["R"])] = np.nan
    hidden = paging.unseen(case, batch, lengths, table)
    k[hidden] = v[hidden] = np.nan
    if case.flags.get("nan"):
        q[batch["row_start"][-2] :] = np.nan
    return {
        "q": q,
        "k": k,
        "v": v,
        "block_table": table,
        "prompt_len": lengths,
        **batch,
        "step": step,
        "scale": a["d"] ** -0.5,
    }


SPEC = OpSpec(
    name="paged_attention",
    doc=(
        "Attention of each live row of request b over its tokens t < prompt_len[b] + step: "
        "token t lies in k/v[block_table[r, t // BT], t % BT]. Each row reads all of its "
        "blocks, also those that other rows name. Dead rows, rows of nobody and rows "
        "without tokens get (0, -inf). PagedAttention, Kwon et al. 2023."
    ),
    args=(
        Arg("q", "R H d"),
        Arg("k", "NP BT G d"),
        Arg("v", "NP BT G d"),
        Arg("block_table", "R MB", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("out", "R H d", role="out"),
        Arg("lse", "R H", "float32", role="out"),
    ),
    scalars=(Scalar("step", "int"), Scalar("scale", "float")),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=close("out", "lse"),
    derived={"B1": lambda a: a["B"] + 1},
)

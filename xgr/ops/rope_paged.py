"""The baseline's write: as rope_kv, into the blocks of a paged cache."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts, paging
from xgr.ops.compare import both, close, either, exact
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 6 * a["R"] * (a["H"] + a["G"]) * a["d"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    each = 2 * (a["H"] + 2 * a["G"]) * a["d"] + a.get("h", 0)
    return item * a["R"] * each


def cases() -> Iterable[Case]:
    """With and without norms, both ends of a block, head sizes and groups."""
    base = {"R": 13, "H": 4, "G": 2, "d": 64, "NP": 30, "BT": 4, "MB": 5, "B": 3}
    case = partial(layouts.case, "rope_paged", base)
    for kind in MODEL_DTYPES:
        yield case(kind, step=1, norm=True, spare=4)
        yield case(kind, step=2, norm=False, strided=True)
        yield case(kind, step=1, norm=True, hidden=40)
    yield case("bfloat16", step=1, norm=False, hidden=1025)
    for tokens in (1, 2, 16):
        yield case("bfloat16", BT=tokens, step=1, norm=True, live="all")
    for size in (16, 96, 128, 256):
        yield case("bfloat16", R=7, d=size, step=0, norm=True)
    for heads, groups in ((3, 3), (16, 1), (12, 4)):
        yield case("bfloat16", R=7, H=heads, G=groups, step=1, norm=True)
    yield case("bfloat16", R=2, B=1, NP=4, H=32, G=8, step=1, norm=True, hidden=40)
    for width in (33, 513):
        yield case("bfloat16", R=width, H=1, G=1, d=16, NP=width, BT=1, B=1, step=0, norm=True)
    yield case(step=0, norm=False, live="none")
    yield case(step=0, norm=True, prompt="empty", live="all")
    yield case("bfloat16", R=80, d=16, NP=80, B=40, step=1, norm=True)


def build(case: Case) -> Values:
    """Host inputs of a case; dead rows are NaN, every live row writes to a block of its own."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    step, batch = int(case.flags["step"]), layouts.rows(case, rng)
    prompt_len = paging.lengths(case, rng, a["MB"] * a["BT"] - step - 1)
    table = rng.integers(0, a["NP"], (a["R"], a["MB"])).astype(np.int32)
    of_row = np.repeat(np.arange(a["B"]), np.diff(batch["row_start"]))
    rows = np.arange(len(of_row))
    table[rows, (prompt_len[of_row] + step) // a["BT"]] = rng.permutation(a["NP"])[: len(rows)]
    dead = layouts.dead(batch, a["R"])
    table[dead] = 1 << 30
    qkv = layouts.heads(rng, case, a["R"])
    qkv[dead] = np.nan
    return {
        "qkv": qkv,
        **layouts.stream(rng, case, dead),
        **layouts.rotation(rng, case, int(prompt_len.max()) + step + 1),
        "block_table": table,
        "prompt_len": prompt_len,
        **batch,
        "k": layouts.normal(rng, case, "NP BT G d"),
        "v": layouts.normal(rng, case, "NP BT G d"),
        "step": step,
        "eps": 1e-6,
    }


SPEC = OpSpec(
    name="rope_paged",
    doc=(
        "As rope_kv at position t = prompt_len[b] + step, k and v written to "
        "k/v[block_table[r, t // BT], t % BT]: no two live rows name the same block there. "
        "Dead rows: out = 0, cache untouched."
    ),
    args=(
        Arg("qkv", "R Q"),
        Arg("cos", "P F", "float32"),
        Arg("sin", "P F", "float32"),
        Arg("q_norm", "d", optional=True),
        Arg("k_norm", "d", optional=True),
        Arg("hidden", "R h", optional=True),
        Arg("block_table", "R MB", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("k", "NP BT G d", role="inout"),
        Arg("v", "NP BT G d", role="inout"),
        Arg("out", "R H d", role="out"),
    ),
    scalars=(Scalar("step", "int"), Scalar("eps", "float")),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=both(close("out", "k"), either("hidden", close("v"), exact("v"))),
    derived={
        "B1": lambda a: a["B"] + 1,
        "F": lambda a: a["d"] // 2,
        "Q": lambda a: (a["H"] + 2 * a["G"]) * a["d"],
    },
    implied={"H": lambda a: a["Q"] // a["d"] - 2 * a["G"]},
    tier="plain",
)

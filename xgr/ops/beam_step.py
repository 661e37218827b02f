"""One level of beam search: normalise, mask, select, step down the trie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from xgr.ops import beams, layouts
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.ranked import identical, ranked
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values

# a legal score is never below this: -inf means illegal and only that
LEAST = -1e30
# bits of status[b]: a score of the request was NaN or +inf; it wants more output rows than a
# kernel sorts at once (2 is kv_reorder's)
NAN_LOGIT = 1
TOO_WIDE = 4


def flops(problem: Problem) -> int:
    """Floating point operations; of a catalogue's children at least the survivors' are needed."""
    a = problem.sizes
    return 3 * (a["RO"] if problem.flag("trie") else a["R"] * a["K"])


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move; of a catalogue's children at least the survivors' are read."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    read = (item + 4) * a["RO"] if problem.flag("trie") else item * a["R"] * a["K"]
    return read + 12 * a["R"] + 16 * a["RO"]


def cases() -> Iterable[Case]:
    """Levels, normalisations, filters, layouts, numbers and widths."""
    for order in ("path", "rank"):
        yield _case(3, 3, 11, 20, 0, order=order, live="some")
        yield _case(7, 40, 9, 60, 1, order=order, live="some", nobody=2, width="ragged")
        yield _case(2, 9, 7, 30, 2, order=order, data="ties", width="over")
        yield _case(2, 8, 33, 21, 1, order=order, trie=False, data="ties")
        for data in ("flat", "peaked", "extreme", "low", "minus_inf", "nan", "plus_inf"):
            yield _case(2, 8, 33, 21, 1, order=order, data=data, items=400)
    for kind in MODEL_DTYPES:
        for normalize in ("vocab", "level", "children", "none"):
            yield _case(2, 8, 21, 14, 1, kind, normalize=normalize, items=400)
    for normalize in ("level", "children"):
        yield _case(2, 8, 9, 21, 2, normalize=normalize, order="rank", filters="mixed")
        yield _case(2, 8, 9, 21, 1, normalize=normalize, trie=False)
        for data in ("minus_inf", "nan", "plus_inf"):
            yield _case(2, 8, 33, 21, 1, normalize=normalize, data=data, items=400)
    for kind in ("exclude", "allow", "mask", "mixed", "nothing"):
        yield _case(3, 20, 13, 30, 2, filters=kind, items=600, data="ties")
    yield _case(3, 3, 70, 30, 0, filters="mixed", order="rank")
    for width in layouts.WIDTHS:
        yield _case(1, width, 17, width, 2, data="ties", items=700)
        yield _case(1, 6, 400, width, 1, data="ties", items=4000, order="rank")
    yield _case(16, 32, 9, 32, 2, live="some", data="ties")
    # a narrow level after a wide one and the reverse; fewer candidates than beams
    yield _case(2, 100, 9, 5, 2, data="ties")
    yield _case(2, 4, 9, 100, 1, data="ties")
    yield _case(2, 12, 9, 40, 2, chains=True, width="over", order="rank")
    yield _case(1, 1, 1, 4, 0)
    yield _case(2, 9, 1, 12, 1)
    # few legal codes among many: what a mask after the selection would lose
    yield _case(2, 40, 3000, 40, 1, data="flat", items=12_000)
    # rows whose children end at, before and behind a block's
    for data in ("normal", "ties", "minus_inf", "nan", "plus_inf"):
        yield _case(2, 13, 600, 40, 1, data=data, children="edges")
        yield _case(2, 13, 600, 40, 1, data=data, children="edges", filters="mixed", width="ragged")
    yield _case(1, 13, 600, 60, 1, normalize="children", children="edges", order="rank")
    yield _case(2, 9, 9, 14, 2, missing=True)
    yield _case(2, 9, 9, 14, 1, live="none", nobody=1)
    yield _case(2, 8, 33, 21, 1, strided=True, filters="mixed")
    yield _case(2, 8, 33, 21, 1, "bfloat16", strided=True, trie=False)
    for r, level in ((1, 0), (512, 1), (512, 2)):
        yield _case(1, r, 8192, 512, level, items=1_000_000, perf=True)
    yield _case(1, 512, 8192, 512, 1, trie=False, perf=True)


def _case(
    b: int, r: int, k: int, ro: int, level: int, kind: str = "float32", **flags: str | int | bool
) -> Case:
    stated: dict[str, str | int | bool] = {"level": level, "normalize": "vocab", "order": "path"}
    return Case("beam_step", {"B": b, "R": r, "K": k, "RO": ro}, kind, stated | flags)


def build(case: Case) -> Values:
    """Host inputs of a case."""
    rng = np.random.default_rng(case.seed)
    batch = beams.batch(rng, case)
    kind = str(case.flags.get("data", "normal"))
    logits = beams.scores(rng, kind, case.sizes["R"], case.sizes["K"])
    beams.spoil(logits, kind, batch)
    lse = None
    if case.flags["normalize"] == "vocab":
        whole = np.round(4 + 4 * rng.random(case.sizes["R"])).astype(np.float32)
        lse = beams.poison(whole, batch.is_live)
    return {
        "logits": beams.model_type(beams.poison(logits, batch.is_live), case.dtype),
        "lse": lse,
        "cumulative": batch.cumulative,
        "node": batch.node,
        "row_start": batch.row_start,
        "live": batch.live,
        "row_start_out": batch.row_start_out,
        "out_width": batch.out_width,
        "trie": batch.trie,
        "filters": batch.filters,
        # a bit of an earlier op, which stays
        "status": np.where(np.arange(case.sizes["B"]) == 1, 2, 0).astype(np.int32),
        "level": batch.level,
        "normalize": case.flags["normalize"],
        "order": case.flags["order"],
    }


def compare(case: Case, inputs: Values, expected: Values, got: Values) -> Sequence[str]:
    """Exact where no exponential is involved, else up to its rounding."""
    exact = case.flags["normalize"] in ("vocab", "none")
    rule = identical if exact else ranked(1e-5, 1e-6, "cumulative_out", "row_start_out")
    return rule(case, inputs, expected, got)


SPEC = OpSpec(
    name="beam_step",
    doc=(
        "score(r, c) = fl32(cumulative[r] + fl32(fl32(logit) - lse)) over the legal "
        "children of node[r] (all K codes when trie is None), clamped to >= -1e30. lse by "
        '`normalize`: "vocab" = the lse argument; "level" = over the K logits; "children" = '
        'over all children of node[r], before filters; "none" = 0; where every logit is -inf '
        "the lse is 0, so that such a row's codes count as -1e30. Selection and order as "
        "beam_sort. Outputs: parent (input row), code, node_out (child node; 0 without "
        "trie), cumulative_out, live_out; dead rows get (row_start[b], 0, -1, -inf). A NaN "
        "or +inf score among a request's legal candidates empties it and sets bit 1 of "
        "status[b] (NAN_LOGIT). A kernel that sorts a limited number of rows empties a request "
        "with more of them and sets bit 4 (TOO_WIDE). At level 0 the input rows are the requests."
    ),
    args=(
        Arg("logits", "R K"),
        Arg("lse", "R", "float32", optional=True),
        Arg("cumulative", "R", "float32"),
        Arg("node", "R", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("row_start_out", "B1", "int32"),
        Arg("out_width", "B", "int32"),
        Arg("trie", "", "int64", struct="trie", optional=True),
        Arg("filters", "", "int32", struct="filters", optional=True),
        Arg("parent", "RO", "int32", role="out"),
        Arg("code", "RO", "int32", role="out"),
        Arg("node_out", "RO", "int32", role="out"),
        Arg("cumulative_out", "RO", "float32", role="out"),
        Arg("live_out", "B", "int32", role="out"),
        Arg("status", "B", "int32", role="inout"),
    ),
    scalars=(
        Scalar("level", "int"),
        Scalar("normalize", "str", flag=True, choices=("vocab", "level", "children", "none")),
        Scalar("order", "str", flag=True, choices=("path", "rank")),
    ),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=compare,
    derived={"B1": lambda a: a["B"] + 1},
)

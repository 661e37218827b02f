"""One level of beam search: normalise, mask, select, step down the trie."""

from __future__ import annotations

from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Problem, Scalar

# bit of status[b]: a score of the request was NaN or +inf
NAN_LOGIT = 1


def flops(problem: Problem) -> int:
    """Floating point operations."""
    a = problem.sizes
    return 3 * a["R"] * a["K"]


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return item * a["R"] * a["K"] + 16 * a["RO"]


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
        "status[b] (NAN_LOGIT). At level 0 the input rows are the requests."
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
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)

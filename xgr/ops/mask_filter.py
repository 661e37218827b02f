"""Valid-path mask: scores of codes that no legal item continues become -inf."""

from __future__ import annotations

from xgr.ops.spec import Arg, OpSpec, Problem, Scalar


def flops(problem: Problem) -> int:
    """A mask computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 8 * a["R"] * a["K"]


SPEC = OpSpec(
    name="mask_filter",
    doc=(
        "For live rows of request b at `level`: column c stays when the catalogue has a "
        "child of node[r] with code c that b's filters keep; a legal score below -1e30 "
        "becomes -1e30, every other column -inf. Dead rows are all -inf. At level 0 the "
        "rows are the requests and the children are the root's."
    ),
    args=(
        Arg("scores", "R K", "float32"),
        Arg("node", "R", "int32"),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("trie", "", "int64", struct="trie"),
        Arg("filters", "", "int32", struct="filters", optional=True),
        Arg("out", "R K", "float32", role="out"),
    ),
    scalars=(Scalar("level", "int"),),
    flops=flops,
    bytes=bytes_moved,
    cases=lambda: (),
    build=lambda case: {},
    compare=lambda *_: (),
    derived={"B1": lambda a: a["B"] + 1},
)

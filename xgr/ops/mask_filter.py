"""Valid-path mask: scores of codes that no legal item continues become -inf."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from xgr.ops import beams
from xgr.ops.ranked import identical
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """A mask computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a = problem.sizes
    return 8 * a["R"] * a["K"]


def cases() -> Iterable[Case]:
    """Levels, filters, layouts and numbers."""
    yield _case(2, 2, 11, level=0)
    yield _case(3, 4, 1, level=0, live="some")
    for level in (1, 2):
        yield _case(3, 14, 9, level=level, live="some", nobody=2)
    yield _case(2, 9, 33, level=2, chains=True)
    yield _case(2, 9, 300, level=1, items=2000, missing=True)
    for kind in ("exclude", "allow", "mask", "mixed", "nothing"):
        yield _case(3, 20, 13, level=2, filters=kind, items=600)
    yield _case(2, 2, 70, level=0, filters="mixed")
    for data in ("extreme", "low", "minus_inf", "nan", "plus_inf"):
        yield _case(2, 8, 9, level=1, data=data)
    yield _case(2, 8, 9, level=1, live="none")
    yield _case(2, 8, 9, level=2, strided=True, filters="mixed")
    yield _case(1, 512, 8192, level=1, items=200_000, perf=True)


def _case(b: int, r: int, k: int, **flags: str | int | bool) -> Case:
    return Case("mask_filter", {"B": b, "R": r, "K": k}, flags=flags)


def build(case: Case) -> Values:
    """Host inputs of a case."""
    rng = np.random.default_rng(case.seed)
    batch = beams.batch(rng, case)
    kind = str(case.flags.get("data", "normal"))
    scores = beams.scores(rng, kind, case.sizes["R"], case.sizes["K"])
    beams.spoil(scores, kind, batch)
    return {
        "scores": beams.poison(scores, batch.is_live),
        "node": batch.node,
        "row_start": batch.row_start,
        "live": batch.live,
        "trie": batch.trie,
        "filters": batch.filters,
        "level": batch.level,
    }


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
    cases=cases,
    build=build,
    compare=identical,
    derived={"B1": lambda a: a["B"] + 1},
)

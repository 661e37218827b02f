"""Rows of a table by index, through a map when given."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts
from xgr.ops.compare import exact
from xgr.ops.dtype import MODEL_DTYPES, dtype
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Values


def flops(problem: Problem) -> int:
    """A gather computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    return 2 * item * a["N"] * a["h"]


def cases() -> Iterable[Case]:
    """With and without map; indices that lead nowhere."""
    case = partial(layouts.case, "embed", {"N": 9, "h": 16, "V": 40, "M": 12})
    for kind in MODEL_DTYPES:
        for mapped in (False, True):
            yield case(kind, map=mapped)
        yield case(kind, map=True, strided=True)
    for count in (0, 1, 129):
        yield case(N=count, map=True)
    yield case(map=True, h=257)
    yield case(map=False, V=1)


def build(case: Case) -> Values:
    """Host inputs of a case: one index below and one above what there is, if there are so many."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    reach = a["M"] if case.flags["map"] else a["V"]
    ids = rng.integers(0, reach, a["N"]).astype(np.int32)
    ids[3:4], ids[5:6], ids[7:8] = -1, reach, reach - 1
    values: Values = {"ids": ids, "table": layouts.normal(rng, case, "V h")}
    if case.flags["map"]:
        values["map"] = rng.permutation(a["V"])[:reach].astype(np.int32)
        values["map"][2], values["map"][4] = -1, a["V"]
    return values


SPEC = OpSpec(
    name="embed",
    doc=(
        "out[n] = table[ids[n]], or table[map[ids[n]]]: `map` turns codes of a level into "
        "token ids. An index out of range gives a row of zeros."
    ),
    args=(
        Arg("ids", "N", "int32"),
        Arg("table", "V h"),
        Arg("map", "M", "int32", optional=True),
        Arg("out", "N h", role="out"),
    ),
    scalars=(),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=exact("out"),
    tier="plain",
)

"""The baseline's bookkeeping: beams fork, and so do their tables of blocks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from xgr.ops import layouts, paging
from xgr.ops.compare import exact
from xgr.ops.spec import Arg, Case, OpSpec, Problem, Scalar, Values


def flops(problem: Problem) -> int:
    """A copy computes nothing."""
    return 0


def bytes_moved(problem: Problem) -> int:
    """Least bytes to move: the tables, read and written."""
    a = problem.sizes
    return 4 * a["R"] * (2 * a["MB"] + 3)


def cases() -> Iterable[Case]:
    """The first fork and later ones, blocks begun and not, parents that must be refused."""
    base = {"R": 21, "MB": 6, "OB": 2, "B": 3}
    case = partial(layouts.case, "block_fork", base)
    for step in range(4):
        yield case(step=step, block_tokens=4, spare=4)
    for tokens in (1, 2, 3, 16):
        yield case(step=2, block_tokens=tokens, OB=3, live="all")
    for parents in ("first", "last", "own", "unsorted", "below", "above"):
        yield case(step=1, block_tokens=16, parents=parents, live="all")
    for width in (1, 31, 33, 64, 129, 511, 513, 1025):
        yield case(R=width, B=1, step=1, block_tokens=8)
    yield case(R=2100, B=4, step=1, block_tokens=8)
    yield case(R=80, B=40, step=1, block_tokens=4)
    yield case(R=7, B=2, MB=1300, step=1, block_tokens=2)
    yield case(R=7, B=2, MB=1300, step=0, block_tokens=2)
    for step in (0, 2):
        yield case(step=step, block_tokens=4, live="none")
        yield case(step=step, block_tokens=4, prompt="empty")
        yield case(step=step, block_tokens=4, strided=True)


def build(case: Case) -> Values:
    """Host inputs of a case; dead rows name no parent, and status has a bit already."""
    rng, a = np.random.default_rng(case.seed), case.sizes
    step, tokens = int(case.flags["step"]), int(case.flags["block_tokens"])
    batch = layouts.rows(case, rng)
    prompt_len = paging.lengths(case, rng, (a["MB"] - a["OB"]) * tokens)
    prompts = np.cumsum(-(-prompt_len // tokens))
    own = prompts[-1] + rng.permutation(a["R"] * a["OB"]).reshape(a["R"], a["OB"])
    values: Values = {
        **batch,
        "prompt_start": ((prompts - -(-prompt_len // tokens)) * tokens).astype(np.int32),
        "prompt_len": prompt_len,
        "own": own.astype(np.int32),
        "status": np.arange(a["B"], dtype=np.int32) % 2,
        "step": step,
        "block_tokens": tokens,
    }
    if step:
        # any blocks do: a table is data here
        values["table"] = rng.permutation(a["R"] * a["MB"]).astype(np.int32).reshape(a["R"], -1)
        values["parent"] = layouts.parents(case, batch, rng)
    return values


SPEC = OpSpec(
    name="block_fork",
    doc=(
        "out[r], the blocks of row r before it writes token t = prompt_len[b] + step. Without "
        "a table: blocks of the prompt while they are full, then own[r]; live rows copy the "
        "prompt's last block where it is not full. With one: w = t // BT; columns before w are "
        "table[parent[r]]'s, those from w on table[r]'s, except that column w, where t % BT > "
        "0, holds tokens: a parent's first child keeps its block, all other rows get the "
        "blocks of rows without children, both ascending, and live ones copy their parent's. "
        "source[r], target[r]: blocks to copy from and to, -1 for none. parent is checked as "
        "in kv_reorder; a bad request keeps its table, copies nothing and gets bit 2 of "
        "status[b]. Dead rows copy nothing and keep their columns before w. A row of nobody has "
        "own[r] alone. BT is block_tokens."
    ),
    args=(
        Arg("parent", "R", "int32", optional=True),
        Arg("row_start", "B1", "int32"),
        Arg("live", "B", "int32"),
        Arg("prompt_start", "B", "int32"),
        Arg("prompt_len", "B", "int32"),
        Arg("own", "R OB", "int32"),
        Arg("table", "R MB", "int32", optional=True),
        Arg("out", "R MB", "int32", role="out"),
        Arg("source", "R", "int32", role="out"),
        Arg("target", "R", "int32", role="out"),
        Arg("status", "B", "int32", role="inout"),
    ),
    scalars=(Scalar("step", "int"), Scalar("block_tokens", "int")),
    flops=flops,
    bytes=bytes_moved,
    cases=cases,
    build=build,
    compare=exact("out", "source", "target", "status"),
    derived={"B1": lambda a: a["B"] + 1},
    tier="plain",
)

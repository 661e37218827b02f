"""Unshared K/V of all layers follow their beams."""

from collections.abc import Mapping, Sequence
from itertools import product

from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem

FACTS = {"triton": {"tunables": ("rows", "columns")}}


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """Configurations worth measuring: rows of a block, and 32 to 256 bytes of each."""
    size, item = problem.sizes["d"], dtype(problem.dtype).itemsize
    columns = [each // item for each in (32, 64, 128, 256) if size % (each // item) == 0]
    pairs = product((128, 256, 512, 1024), columns)
    # beyond 128 KB a block has no registers for K and V
    return [{"rows": r, "columns": c} for r, c in pairs if 2 * r * c * item <= 1 << 17]

"""How much the blocks of a beam step take at once: the rule, and what a sweep may try instead.

Not measured yet: a block reads a row of 8192 codes with loads that are all in flight at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product

from xgr.ops.spec import Problem


@dataclass(frozen=True, slots=True)
class Blocks:
    """Powers of two, but for `chained`; each may be set by a config.

    Attributes:
        block: codes of a row that are read at once.
        warps: of a block that reads rows whole.
        gathered: children of a row that are looked up at once.
        gather_warps: of a block that only looks up children.
        select_warps: of the block that chooses for a request.
        chunk: most keys that a cut holds in registers.
        step: most candidates that are opened at once.
        chained: 1 to launch select and emit before what they wait for has ended, from sm_90 on.
    """

    block: int = 8192
    warps: int = 4
    gathered: int = 1024
    gather_warps: int = 4
    select_warps: int = 16
    chunk: int = 8192
    step: int = 8192
    chained: int = 1


TUNABLES = tuple(field.name for field in fields(Blocks))


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """Configurations worth measuring, the chosen one first."""
    return [asdict(one) for one in dict.fromkeys(_space(Blocks(), problem))]


def _space(chosen: Blocks, problem: Problem) -> Iterator[Blocks]:
    yield chosen
    yield replace(chosen, chained=0)
    for step, warps in product((2048, 4096, 8192), (16, 32)):
        yield replace(chosen, step=step, select_warps=warps)
    constrained = problem.flag("trie", False)
    if not constrained or problem.flag("normalize") == "level":
        for block, warps in product((2048, 4096, 8192), (4, 8, 16)):
            yield replace(chosen, block=block, warps=warps)
    if constrained:
        for gathered, warps in product((256, 512, 1024), (1, 2, 4)):
            yield replace(chosen, gathered=gathered, gather_warps=warps)

"""How much the blocks of a beam step take at once: the rule, and what a sweep may try instead.

A block reads a row of 8192 codes with loads that are all in flight at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from xgr.ops.spec import Problem


@dataclass(frozen=True, slots=True)
class Blocks:
    """Powers of two, but for `chained`; each may be set by a config.

    Attributes:
        block: codes of a row that are read at once.
        warps: of a block that reads rows whole.
        gathered: children of a row that are looked up at once.
        gather_warps: of a block that only looks up children.
        opened: tiles of a group whose candidates a block lists.
        looked: those of them, not below the floor, that are looked up at once if they are many.
        open_warps: of such a block.
        select_warps: of the blocks that work for a whole request.
        chunk: most keys that a cut holds in registers.
        step: most candidates that are moved at once.
        spare: candidates that a request may list beyond those that go by its width.
        chained: 1 to launch each kernel before what it waits for has ended, from sm_90 on.
    """

    block: int = 8192
    warps: int = 4
    gathered: int = 256
    gather_warps: int = 2
    opened: int = 16
    looked: int = 8
    open_warps: int = 1
    select_warps: int = 16
    chunk: int = 8192
    step: int = 4096
    spare: int = 8192
    chained: int = 1


TUNABLES = tuple(field.name for field in fields(Blocks))


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """Configurations worth measuring, the chosen one first."""
    return [asdict(one) for one in dict.fromkeys(_space(Blocks(), problem))]


def _space(chosen: Blocks, problem: Problem) -> Iterator[Blocks]:
    yield chosen
    yield replace(chosen, chained=0)
    for warps in (4, 8):
        yield replace(chosen, select_warps=warps)
    for opened, looked, warps in ((32, 8, 1), (32, 16, 2), (32, 32, 4), (16, 16, 1)):
        yield replace(chosen, opened=opened, looked=looked, open_warps=warps)
    constrained = problem.flag("trie", False)
    if not constrained or problem.flag("normalize") == "level":
        for block, warps in ((8192, 8), (4096, 4), (2048, 2), (2048, 4)):
            yield replace(chosen, block=block, warps=warps)
    if constrained:
        for gathered, warps in ((256, 1), (512, 2), (1024, 4)):
            yield replace(chosen, gathered=gathered, gather_warps=warps)

"""How long the stages of attention take by a roofline: a model, since no NPU has been measured.

A stage on some of the cores takes as long as its products at their share of the chip's operations,
or its reads at their share of the chip's bandwidth, which part of the cores draw whole; whichever
is longer. The rates are assumed, not measured: what decides between divisions of the cores is
their ratio, which is that of `stages.stage_work`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xgr.backends.ascend.soc import SocSpec
from xgr.backends.ascend.stages import OPERATIONS_A_BYTE, stage_counts, stage_groups
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem
from xgr.registry.kernel import Config

# of the chip: bytes and operations a microsecond
BYTES = 1.6e6
OPERATIONS = OPERATIONS_A_BYTE * BYTES
# cores that draw all bandwidth, as a share
SATURATING = 0.5
# a call, and what one stream waits for another; microseconds
CALL, WAIT = 3.0, 2.0


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage reads, writes and multiplies."""

    bytes: float
    operations: float

    def us(self, share: float) -> float:
        """Microseconds on a share of the cores."""
        drawn = BYTES * min(1.0, share / SATURATING)
        return max(self.bytes / drawn, self.operations / (OPERATIONS * share))


def stages(problem: Problem) -> tuple[Stage, Stage, Stage]:
    """The shared stage, the unshared one, and their merge."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    vectors = a["R"] * a["H"] * a["d"] * item
    shared, unshared = (
        Stage(read + 2 * vectors, operations) for read, operations in stage_counts(problem)
    )
    return shared, unshared, Stage(3 * vectors, 0)


def in_turn(problem: Problem, config: Config, cores: int) -> float:
    """One stage after the other, each on all cores."""
    return sum(CALL + one.us(1.0) for one in stages(problem))


def side_by_side(problem: Problem, config: Config, cores: int) -> float:
    """The stages on groups of the cores, which share the bandwidth; then the merge."""
    shared, unshared, merge = stages(problem)
    groups = stage_groups(problem, config, SocSpec("any", cores, 2 * cores))
    apart = [
        one.us(group.cube / cores) for one, group in zip((shared, unshared), groups, strict=True)
    ]
    both = max(*apart, (shared.bytes + unshared.bytes) / BYTES)
    return CALL + WAIT + both + CALL + merge.us(1.0)

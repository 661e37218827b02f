"""The kernel records of attention by the library: its stages, both together, and the prefill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xgr.backends.ascend import constraints
from xgr.backends.ascend.soc import CoreGroup, SocSpec, divided, partition
from xgr.errors import Reason
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem
from xgr.registry.kernel import Config, Kernel

_HERE = __name__.rpartition(".")[0]
_ROOM, _COSTS = f"{_HERE}.attention", f"{_HERE}.roofline"


def attention(problem: Problem) -> Iterable[Reason]:
    """What the fused attention takes of a problem, whatever its lengths."""
    a = problem.sizes
    found = constraints.fia_heads(problem.dtype, a["H"], a["G"], a["d"])
    yield from (reason for reason in found if reason.code != "dtype")  # the records state dtypes
    if problem.flag("bias"):
        hint = "models with relative positions are not served on NPUs yet"
        yield Reason("bias", "a bias of positions", "none", hint)


def rows_as_sequences(problem: Problem) -> Iterable[Reason]:
    """What the fused attention takes where every row is a sequence of its own slots."""
    yield from attention(problem)
    yield from constraints.sequences(problem.sizes["R"])


def both(problem: Problem) -> Iterable[Reason]:
    """What the stages and their merge take."""
    yield from rows_as_sequences(problem)
    yield from merge(problem)


def merge(problem: Problem) -> Iterable[Reason]:
    """What the merge takes."""
    yield from constraints.attention_update(problem.dtype, 2, problem.sizes["d"])


def rotation(problem: Problem) -> Iterable[Reason]:
    """What the rotation takes of query and key heads."""
    a = problem.sizes
    yield from constraints.rotary_mul(a["H"] + a["G"], a["d"])
    if problem.flag("hidden"):
        hint = "the library adds the residual and norms in one launch: rms_norm before the product"
        yield Reason("norm", "behind the product", "none", hint)


# of a chip, in the time of a byte that is read
OPERATIONS_A_BYTE = 256


def stage_counts(problem: Problem) -> tuple[tuple[int, int], tuple[int, int]]:
    """Bytes of K/V that the shared and the unshared stage read, and operations of each.

    The shared stage reads each prompt once and multiplies for every beam; the unshared stage reads
    every row's own tokens.
    """
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    size = a["G"] * a["d"] * 2 * item
    per_key = 4 * a["R"] * a["H"] * a["d"]
    shared = a["T"] * size, per_key * a["T"] // max(1, a["B"])
    return shared, (a["R"] * a["S"] * size, per_key * a["S"])


def stage_work(problem: Problem) -> tuple[float, float]:
    """Work of the stages as `stage_counts` has them: operations as bytes that take as long."""
    shared, unshared = (
        float(max(read, operations // OPERATIONS_A_BYTE))
        for read, operations in stage_counts(problem)
    )
    return shared, unshared


def stage_groups(problem: Problem, config: Config, soc: SocSpec) -> tuple[CoreGroup, CoreGroup]:
    """Core groups of the stages: as many AIC as a tuned table says, else in proportion to work."""
    if "shared" in config:
        return divided(soc, config["shared"])
    return partition(soc, *stage_work(problem))


def splits(problem: Problem, cores: int, arch: int) -> Sequence[Config]:
    """Core groups worth measuring: eighths of the AICs for the shared stage."""
    return [{"shared": n} for n in sorted({max(1, cores * i // 8) for i in range(3, 8)})]


# logits of linear_lse that are in memory at once, 64 MiB, which the chip's cache holds; the least
# columns of a part
LOGITS, COLUMNS = 1 << 24, 1024


def lse_parts(rows: int, vocab: int) -> tuple[int, int]:
    """Columns of the head whose logits linear_lse has at once, and in how many parts."""
    columns = min(vocab, max(COLUMNS, LOGITS // max(rows, 1)))
    return columns, -(-vocab // columns)


STAGE_KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "shared_attention",
        "ascend.fia",
        f"{_ROOM}.shared_attention:build",
        priority=10,
        dtypes=constraints.FIA_DTYPES,
        rule=attention,
    ),
    Kernel(
        "unshared_attention",
        "ascend.fia",
        f"{_ROOM}.unshared_attention:build",
        priority=10,
        dtypes=constraints.FIA_DTYPES,
        rule=rows_as_sequences,
    ),
    Kernel(
        "merge_attention",
        "ascend.update",
        f"{_ROOM}.merge_attention:build",
        priority=10,
        rule=merge,
    ),
    Kernel(
        "staged_attention",
        "ascend.fia",
        f"{_ROOM}.staged_attention:build",
        priority=10,
        dtypes=constraints.FIA_DTYPES,
        rule=both,
        cost=f"{_COSTS}:in_turn",
    ),
    Kernel(
        "staged_attention",
        "ascend.split",
        f"{_ROOM}.staged_attention:build_split",
        priority=5,
        dtypes=constraints.FIA_DTYPES,
        rule=both,
        tunables=("shared",),
        space=splits,
        cost=f"{_COSTS}:side_by_side",
    ),
    Kernel(
        "prefill_attention",
        "ascend.fia",
        f"{_ROOM}.prefill_attention:build",
        priority=10,
        dtypes=constraints.FIA_DTYPES,
        rule=attention,
    ),
)

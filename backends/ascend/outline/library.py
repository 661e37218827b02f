"""What calls of torch and of the library run on: they choose their own blocks within the chip's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from xgr.backends.ascend.constraints import BLOCK, takes_packed
from xgr.backends.ascend.soc import KIB, CoreGroup, SocSpec
from xgr.backends.ascend.stages import stage_groups
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem
from xgr.registry.kernel import Config
from xgr.registry.outline import Launch, Outline

# small calls that find the owner of each row, and whether it is live
OWNER = Counter({"searchsorted": 1})
ALIVE = OWNER + Counter({"index_select": 2, "sub": 1, "clamp_max": 1, "lt": 2, "bitwise_and": 1})
MASKED = Counter({"masked_fill_": 2})

CUBE, VECTOR, MIX = "AIC", "AIV", "AIC + AIV"


class Chip:
    """Launches of library calls on a chip, or on a group of its cores.

    Args:
        soc: the chip.
        group: the cores; None for all.
        name: of the group.
    """

    def __init__(self, soc: SocSpec, group: CoreGroup | None = None, name: str = "") -> None:
        self._soc, self._name = soc, name
        self._group = group or CoreGroup(soc.cube_cores, soc.vector_cores)

    def cube(self, call: str, memory: str = "", times: int = 1) -> Launch:
        """On the matrix units: operands through L1 and L0A/L0B, sums in L0C."""
        held = f"L1 {_kib(self._soc.l1)}, L0A/L0B {_kib(self._soc.l0a)}, L0C {_kib(self._soc.l0c)}"
        return self._launch(call, CUBE, f"at most {self._group.cube}", held, memory, times)

    def vector(self, call: str, memory: str = "", times: int = 1) -> Launch:
        """On the vector units."""
        held = f"UB {_kib(self._soc.ub)}"
        return self._launch(call, VECTOR, f"at most {self._group.vector}", held, memory, times)

    def mix(self, call: str, memory: str = "", times: int = 1) -> Launch:
        """On both: products on the matrix units, softmax on the vector units beside them."""
        blocks = f"at most {self._group.cube} with {self._group.vector}"
        held = f"L1 {_kib(self._soc.l1)}, L0C {_kib(self._soc.l0c)}, UB {_kib(self._soc.ub)} a core"
        return self._launch(call, MIX, blocks, held, memory, times)

    def _launch(
        self, call: str, units: str, blocks: str, held: str, memory: str, times: int
    ) -> Launch:
        told = f"tiled by the library within {held}" + (f"; {memory}" if memory else "")
        return Launch(call, units, f"{blocks} cores", told, self._name, times)


def shared_stage(problem: Problem, chip: Chip) -> tuple[list[Launch], Counter[str]]:
    """Calls over the prompts: one where the library packs requests or their widths are equal."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    rows = a.get("R", a.get("N", 0))
    packed = takes_packed(a["H"], a["G"], a["d"])
    per = -(-rows // max(1, a["B"]))
    shape = (
        f"TND, q [{rows}, {a['H']}, {a['d']}]"
        if packed
        else (f"BSND, q [{a['B']}, {per}, {a['H']}, {a['d']}]")
    )
    keys = f"K/V in {a['T'] // BLOCK} blocks of {BLOCK} tokens x {a['G'] * a['d'] * item} bytes"
    table = f"block table {4 * (a['B'] + 1) * (a['T'] // BLOCK)} bytes"
    call = chip.mix(f"npu_fused_infer_attention_score_v2.out ({shape})", f"{keys}, {table}")
    return [call], Counter({"copy_": 1})


def unshared_stage(problem: Problem, chip: Chip) -> tuple[list[Launch], Counter[str]]:
    """One call, every row a sequence; with ancestors its K/V are gathered first."""
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    small: Counter[str] = Counter()
    memory = f"K/V {2 * a['R'] * a['S'] * a['G'] * a['d'] * item} bytes"
    if problem.flag("ancestors"):
        small += Counter({"where": 1, "mul": 1, "add": 1, "index_select": 2})
        memory += ", gathered first"
    shape = f"BSND, q [{a['R']}, 1, {a['H']}, {a['d']}]"
    return [chip.mix(f"npu_fused_infer_attention_score_v2.out ({shape})", memory)], small


def merge(problem: Problem, chip: Chip) -> tuple[list[Launch], Counter[str]]:
    """One call over rows and heads as one axis."""
    a = problem.sizes
    call = chip.vector(f"npu_attention_update (2 x [{a['R'] * a['H']}, {a['d']}])")
    return [call], Counter({"clamp_min": 2, "copy_": 2, "lt": 1, "masked_fill_": 1})


def staged(problem: Problem, soc: SocSpec, config: Config, split: bool) -> Outline:
    """Both stages and their merge, on all cores in turn or on a group each."""
    whole = Chip(soc)
    chips = [whole, whole]
    if split:
        groups = stage_groups(problem, config, soc)
        names = ("shared", "unshared")
        chips = [Chip(soc, group, name) for group, name in zip(groups, names, strict=True)]
        told = [
            f"{name} {group.cube} AIC with {group.vector} AIV of {soc.cube_cores} and "
            f"{soc.vector_cores} (set_stream_limit), at once on a stream each"
            for group, name in zip(groups, names, strict=True)
        ]
    else:
        told = [f"none: both stages take all {soc.cube_cores} AIC with {soc.vector_cores} AIV"]
    launches: list[Launch] = []
    small = ALIVE + MASKED + Counter({"bitwise_not": 1})
    parts = (
        shared_stage(problem, chips[0]),
        unshared_stage(problem, chips[1]),
        merge(problem, whole),
    )
    for calls, more in parts:
        launches += calls
        small += more
    return Outline(tuple(launches), dict(small), VECTOR, tuple(told))


def counted(launches: Sequence[Launch], small: Mapping[str, int]) -> Outline:
    """An outline without core groups."""
    return Outline(tuple(launches), dict(small), VECTOR)


def _kib(size: int) -> str:
    return f"{size // KIB} KiB"

"""What each kernel of this backend launches, on which cores, with what memory: no device needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from xgr.backends.ascend.outline import library, tiling
from xgr.backends.ascend.outline.library import ALIVE, MASKED, OWNER, Chip, counted
from xgr.backends.ascend.soc import SocSpec
from xgr.backends.ascend.stages import lse_parts
from xgr.ops.dtype import dtype
from xgr.ops.spec import Problem
from xgr.registry.kernel import Config, Kernel
from xgr.registry.outline import Launch, Outline

Drawn = Callable[[Problem, SocSpec], Outline]


def outline(kernel: Kernel, problem: Problem, config: Config, soc: SocSpec) -> Outline | None:
    """The outline of a launch; None for kernels that are only compiled, as Triton's."""
    if kernel.op == "staged_attention" and kernel.name in {"ascend.fia", "ascend.split"}:
        return library.staged(problem, soc, config, kernel.name == "ascend.split")
    drawn = OUTLINES.get((kernel.op, kernel.name))
    return drawn(problem, soc) if drawn is not None else None


def _shared(problem: Problem, soc: SocSpec) -> Outline:
    calls, small = library.shared_stage(problem, Chip(soc))
    return counted(calls, small + ALIVE + MASKED + Counter({"bitwise_not": 1}))


def _unshared(problem: Problem, soc: SocSpec) -> Outline:
    calls, small = library.unshared_stage(problem, Chip(soc))
    return counted(calls, small + ALIVE + MASKED + Counter({"bitwise_not": 2}))


def _merge(problem: Problem, soc: SocSpec) -> Outline:
    return counted(*library.merge(problem, Chip(soc)))


def _prefill(problem: Problem, soc: SocSpec) -> Outline:
    calls, _ = library.shared_stage(problem, Chip(soc))
    small = {"clamp_max": 1, "index_select": 1, "lt": 1, "ge": 1, "bitwise_or": 1}
    return counted(calls, OWNER + Counter(small) + Counter({"masked_fill_": 1}))


def _linear(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    call = "addmm" if problem.flag("bias") else "mm"
    return counted([Chip(soc).cube(f"{call} [{a['N']}, {a['I']}] x [{a['I']}, {a['O']}]")], {})


def _logits(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    shape = f"[{a['R']}, {a['h']}] x [{a['h']}, {a['K']}]"
    return counted([Chip(soc).cube(f"mm {shape}, written in float32")], {})


def _lse(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    columns, parts = lse_parts(a["R"], a["V"])
    chip = Chip(soc)
    room = f"logits {4 * a['R'] * columns} bytes"
    shape = f"[{a['R']}, {a['h']}] x [{a['h']}, {columns}]"
    calls = [
        chip.cube(f"mm {shape}, written in float32", room, times=parts),
        chip.vector("logsumexp", times=parts + (parts > 1)),
    ]
    return counted(calls, {"copy_": parts + 1})


def _norm(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    call = "npu_add_rms_norm_v2" if problem.flag("residual") else "npu_rms_norm"
    return counted([Chip(soc).vector(f"{call} [{a['N']}, {a['h']}]")], {"copy_": 1})


def _gate(call: str) -> Drawn:
    def drawn(problem: Problem, soc: SocSpec) -> Outline:
        a = problem.sizes
        return counted([Chip(soc).vector(f"{call} [{a['N']}, 2 x {a['I']}]")], {"copy_": 1})

    return drawn


def _embed(problem: Problem, soc: SocSpec) -> Outline:
    a, mapped = problem.sizes, 1 + bool(problem.flag("map"))
    small = {name: mapped for name in ("clamp_min", "clamp_max", "eq", "bitwise_not")}
    call = Chip(soc).vector(f"index_select [{a['N']}, {a['h']}] of [{a['V']}, {a['h']}]")
    small |= {"masked_fill_": mapped} | ({"index_select": 1} if mapped > 1 else {})
    return counted([call], small)


def _rope(problem: Problem, soc: SocSpec) -> Outline:
    a, chip = problem.sizes, Chip(soc)
    heads = f"[{a['R']}, {a['H'] + a['G']}, {a['d']}] float32"
    norms = bool(problem.flag("q_norm")) + bool(problem.flag("k_norm"))
    calls = [chip.vector("npu_rms_norm of query and of key heads", times=norms)] if norms else []
    calls.append(chip.vector(f"npu_rotary_mul {heads}"))
    small = {"index_select": 3, "clamp_max": 1, "add": 1, "copy_": 6 + norms, "_to_copy": 1 + norms}
    small |= {"bitwise_not": 1, "masked_fill_": 1, "where": 2}
    return counted(calls, ALIVE + Counter(small))


def _step(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    item = 4  # of logits, as linear_logits writes them
    mask = tiling.mask_filter(a["B"], a["R"], a["K"], item, soc.vector_cores)
    topk = tiling.beam_topk(a["B"], a["R"], a["K"], a["RO"], soc.vector_cores)
    calls = [_own("mask_filter", mask, soc), _own("beam_topk", topk, soc, _phases(problem))]
    return counted(calls, {})


def _sort(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    topk = tiling.beam_topk(a["B"], a["R"], a["C"], a["RO"], soc.vector_cores)
    return counted([_own("beam_topk", topk, soc, _phases(problem))], {})


def _phases(problem: Problem) -> int:
    """Launches of beam_topk, between which cores meet; ranking the beams takes one more."""
    return 3 if problem.flag("order") == "rank" else 2


def _mask(problem: Problem, soc: SocSpec) -> Outline:
    a = problem.sizes
    mask = tiling.mask_filter(a["B"], a["R"], a["K"], 4, soc.vector_cores)
    return counted([_own("mask_filter", mask, soc)], {})


def _reorder(problem: Problem, soc: SocSpec) -> Outline:
    a, item = problem.sizes, dtype(problem.dtype).itemsize
    # the longest step: all slots but the one that the next forward writes
    step = max(1, a["S"] - 1)
    whole = tiling.kv_reorder(
        a["B"], a["L"], a["R"], a["G"], a["d"], item, step, soc.vector_cores
    )  # fmt: skip
    return counted([_own("kv_reorder", whole, soc)], {})


def _own(name: str, made: tiling.Tiling, soc: SocSpec, times: int = 1) -> Launch:
    memory = f"UB {made.ub} of {soc.usable_ub} bytes ({made.tile})"
    memory += f", workspace {made.workspace} bytes" if made.workspace else ""
    call, blocks = f"xgr_ascend::{name} (AscendC)", f"block dim {made.cores}"
    return Launch(call, library.VECTOR, blocks, memory, times=times)


OUTLINES: dict[tuple[str, str], Drawn] = {
    ("shared_attention", "ascend.fia"): _shared,
    ("unshared_attention", "ascend.fia"): _unshared,
    ("merge_attention", "ascend.update"): _merge,
    ("prefill_attention", "ascend.fia"): _prefill,
    ("linear", "ascend.torch"): _linear,
    ("linear_logits", "ascend.torch"): _logits,
    ("linear_lse", "ascend.torch"): _lse,
    ("rms_norm", "ascend.library"): _norm,
    ("swiglu", "ascend.library"): _gate("npu_swiglu"),
    ("gelu_gated", "ascend.library"): _gate("npu_geglu"),
    ("embed", "ascend.torch"): _embed,
    ("rope_kv", "ascend.library"): _rope,
    ("beam_step", "ascend.ascendc"): _step,
    ("beam_sort", "ascend.ascendc"): _sort,
    ("mask_filter", "ascend.ascendc"): _mask,
    ("kv_reorder", "ascend.ascendc"): _reorder,
}

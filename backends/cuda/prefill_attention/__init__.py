"""Attention of packed prompts over their own keys."""

from __future__ import annotations

from collections.abc import Iterable

from xgr.backends.cuda.aligned import uneven
from xgr.backends.cuda.prefill_attention.hopper_tiles import HOPPER
from xgr.backends.cuda.prefill_attention.tiles import LARGEST_HEAD, TUNABLES, space
from xgr.errors import Reason
from xgr.ops.spec import Problem

__all__ = ["FACTS", "space"]


def _flash_lacks(problem: Problem) -> Iterable[Reason]:
    if problem.flag("bias"):
        yield Reason("bias", "a table", "no bias", "kernel='cuda.triton'")
    yield from uneven(problem, "d")


def _flash_allocates(problem: Problem) -> Iterable[Reason]:
    yield Reason("memory", "a result that torch allocates at each launch", "none after bind")


FACTS = {
    "hopper": HOPPER,
    "triton": {"tunables": TUNABLES, "limits": {"d": (1, LARGEST_HEAD)}},
    "torch": {
        "dtypes": ("bfloat16", "float16"),
        # those that torch builds it for
        "archs": ("sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"),
        "limits": {"d": (8, LARGEST_HEAD)},
        "rule": _flash_lacks,
        "auto": _flash_allocates,
    },
}

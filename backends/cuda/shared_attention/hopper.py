"""The shared stage alone: the kernel of staged attention for sm_90 without own tokens."""

from __future__ import annotations

from xgr.backends.cuda.staged_attention.hopper import HopperAttention
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles and allocate the workspaces of a split prompt."""
    return HopperAttention(problem, context)

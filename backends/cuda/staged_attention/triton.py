"""Fused staged attention in Triton."""

from __future__ import annotations

from xgr.backends.cuda.staged_attention.launch import Attention
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Choose tiles and allocate the workspaces of a split prompt."""
    return Attention(problem, context)

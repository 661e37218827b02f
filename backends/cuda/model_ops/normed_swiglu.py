"""normed_swiglu."""

from __future__ import annotations

from xgr.backends.cuda.model_ops.gates import build_gate
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """A program a piece of a row, which reads the row that is normed for itself."""
    return build_gate(problem, gelu=False)

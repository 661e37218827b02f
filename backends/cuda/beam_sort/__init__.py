"""The best continuations of each request, by the kernels of beam_step."""

from xgr.backends.cuda.beam_step.blocks import TUNABLES, space

__all__ = ["FACTS", "space"]

FACTS = {"triton": {"tunables": TUNABLES}}

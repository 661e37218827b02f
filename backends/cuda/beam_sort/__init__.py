"""The best continuations of each request, by the kernels of beam_step."""

from xgr.backends.cuda.beam_step.blocks import TUNABLES

FACTS = {"triton": {"tunables": TUNABLES}}

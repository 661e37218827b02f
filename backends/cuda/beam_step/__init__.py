"""One level of beam search: scan the rows, choose the survivors, order them."""

from xgr.backends.cuda.beam_step.blocks import TUNABLES

FACTS = {"triton": {"tunables": TUNABLES}}

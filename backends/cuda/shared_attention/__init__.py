"""Attention of beams over the prompt of their request."""

from xgr.backends.cuda.staged_attention.heuristic import HOPPER, LARGEST_HEAD, TUNABLES

FACTS = {"triton": {"tunables": TUNABLES, "limits": {"d": (1, LARGEST_HEAD)}}, "hopper": HOPPER}

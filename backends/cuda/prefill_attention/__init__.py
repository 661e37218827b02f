"""Attention of packed prompts over their own keys."""

from xgr.backends.cuda.staged_attention.heuristic import LARGEST_HEAD, TUNABLES

FACTS = {"triton": {"tunables": TUNABLES, "limits": {"d": (1, LARGEST_HEAD)}}}

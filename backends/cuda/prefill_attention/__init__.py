"""Attention of packed prompts over their own keys."""

from xgr.backends.cuda.prefill_attention.tiles import LARGEST_HEAD, TUNABLES, space

__all__ = ["FACTS", "space"]

FACTS = {"triton": {"tunables": TUNABLES, "limits": {"d": (1, LARGEST_HEAD)}}}

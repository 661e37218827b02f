"""Unshared K/V of all layers follow their beams."""

FACTS = {"triton": {"tunables": ("rows", "columns")}}

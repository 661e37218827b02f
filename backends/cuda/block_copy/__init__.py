"""Copies of whole blocks of a paged cache, all layers at once."""

FACTS = {"triton": {"tunables": ("elements",)}}

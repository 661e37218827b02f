"""What is fixed when an engine starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xgr.engine.request import is_count, is_whole
from xgr.errors import InputError

NORMALIZE = ("vocab", "level", "children", "none")
KV_MODES = ("ancestors", "reorder")
ATTENTION = ("staged", "paged")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Limits and choices of an engine.

    Attributes:
        normalize: what a code's probability is relative to: "vocab" (all rows of the head, as HF
            generate), "level" (the level's codes), "children" (the catalogue's children of the
            beam, before filters) or "none" (raw logits).
        kv_mode: how beams keep their K/V, "ancestors" or "reorder"; the backend's own when None.
        attention: "staged", or "paged", the baseline that it is measured against: every beam a
            sequence with a block table (`xgr.engine.paged`), which has no kv_mode.
        block_tokens: tokens of a block of the paged baseline; prompts begin at a block.
        constrained: only items of the catalogue come out. False searches the whole vocabulary
            and is for measuring what the constraint is worth.
        end_tokens: token ids whose log-probs are added to each score after the last code, for
            parity with searches that decode them; empty for none.
        max_tokens: prompt tokens of one batch (the KV arena), granule padding included.
        max_rows: beams of one batch.
        max_requests: requests of one batch.
        graph_tokens: prefills of at most this many packed tokens are captured as graphs, which
            takes the host about two launches of them; longer ones keep the device busy for longer
            than the host needs, and are launched one by one.
        max_programs: buffers and graphs of buckets that are kept at once.
        filter_capacity: filter nodes of one batch and level.
        filter_masks: registered filters that may be on the device at once.
    """

    normalize: str = "vocab"
    kv_mode: str | None = None
    attention: str = "staged"
    block_tokens: int = 16
    constrained: bool = True
    end_tokens: tuple[int, ...] = ()
    max_tokens: int = 8192
    max_rows: int = 4096
    max_requests: int = 8
    graph_tokens: int = 16384
    max_programs: int = 96
    filter_capacity: int = 65536
    filter_masks: int = 8

    def __post_init__(self) -> None:
        if self.normalize not in NORMALIZE:
            raise InputError(f"normalize is {self.normalize!r}, allowed: {', '.join(NORMALIZE)}")
        if self.kv_mode is not None and self.kv_mode not in KV_MODES:
            raise InputError(f"kv_mode is {self.kv_mode!r}, allowed: {', '.join(KV_MODES)}")
        if self.attention not in ATTENTION:
            raise InputError(f"attention is {self.attention!r}, allowed: {', '.join(ATTENTION)}")
        if self.attention == "paged" and self.kv_mode is not None:
            raise InputError(
                f"kv_mode={self.kv_mode!r} is of attention='staged': leave it out of 'paged'"
            )
        ends = self.end_tokens
        listed = isinstance(ends, Sequence) and not isinstance(ends, str | bytes)
        if not listed or not all(is_whole(token) for token in ends):
            raise InputError(f"end_tokens is {ends!r}, need a list of token ids")
        if not isinstance(self.constrained, bool):
            raise InputError(f"constrained is {self.constrained!r}, need True or False")
        if self.end_tokens and self.normalize != "vocab":
            raise InputError(
                f"end tokens are scored with normalize='vocab' only, not {self.normalize!r}: "
                "within a level of one code their log-prob is 0"
            )
        if not self.constrained and self.normalize == "children":
            raise InputError("normalize='children' needs the catalogue: use it constrained")
        if not is_whole(self.graph_tokens) or self.graph_tokens < 0:
            raise InputError(f"graph_tokens is {self.graph_tokens!r}, need a whole number, or 0")
        for name in (
            "block_tokens",
            "max_programs",
            "max_tokens",
            "max_rows",
            "max_requests",
            "filter_capacity",
            "filter_masks",
        ):
            if not is_count(getattr(self, name)):
                value = getattr(self, name)
                raise InputError(f"{name} is {value!r}, need a whole number of at least 1")

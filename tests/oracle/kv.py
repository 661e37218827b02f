"""Two caches for the beams: the library's own, and fixed buffers that never move the prompt."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer


class BeamCache(Protocol):
    """K/V of all layers, one row a beam; `layers` is what the model is given."""

    layers: Any

    def follow(self, parent: torch.Tensor) -> None:
        """Makes row i a copy of old row parent[i]; the number of rows may change."""


class CacheMaker(Protocol):
    """Makes the empty cache of one search."""

    def __call__(self, config: Any, tail: int) -> BeamCache:
        """A cache for a model's config that takes `tail` tokens after the prompt."""


class DynamicBeams:
    """`DynamicCache`: the prompt's row repeated to the beams, whole rows moved at each level."""

    def __init__(self, config: Any, tail: int) -> None:
        self.layers: Any = DynamicCache(config=config)

    def follow(self, parent: torch.Tensor) -> None:
        rows = self.layers.layers[0].keys.shape[0]
        if rows == 1:
            self.layers.batch_repeat_interleave(len(parent))
        elif len(parent) != rows or not torch.equal(parent, torch.arange(rows)):
            self.layers.reorder_cache(parent)


class FixedBeams:
    """One buffer [rows, heads, prompt + tail, d] for K and V of a layer; the prompt written once.

    All rows hold the same prompt, so following the parents moves only the few tokens after it.
    An instance makes the caches of one search after another in the same memory: only the last
    one made is valid.
    """

    def __init__(self) -> None:
        self._memory: list[torch.Tensor] = []

    def __call__(self, config: Any, tail: int) -> BeamCache:
        while len(self._memory) < 2 * config.num_hidden_layers:
            self._memory.append(torch.empty(0))
        pairs = [self._memory[2 * i : 2 * i + 2] for i in range(config.num_hidden_layers)]
        return _FixedCache([_FixedLayer(pair, tail) for pair in pairs])


class _FixedCache:
    def __init__(self, parts: list[_FixedLayer]) -> None:
        self._parts = parts
        self.layers = Cache(layers=list(parts))

    def follow(self, parent: torch.Tensor) -> None:
        for part in self._parts:
            part.follow(parent)


class _FixedLayer(DynamicLayer):  # type: ignore[no-untyped-call]  # the library is untyped here
    """One layer: the library's growing layer during the prefill, buffers from `follow` on."""

    keys: Any
    values: Any

    def __init__(self, memory: list[torch.Tensor], tail: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self._memory, self._tail = memory, tail
        self._prompt = 0
        self._buffers: list[torch.Tensor] = []

    def follow(self, parent: torch.Tensor) -> None:
        rows, used = len(parent), self.keys.shape[-2]
        held = (self.keys, self.values)
        self._prompt = self._prompt or used
        moved = [old[parent, :, self._prompt :] for old in held]
        if not self._buffers or rows > len(self._buffers[0]):
            pairs = zip(self._memory, held, strict=True)
            self._buffers = [self._spread(memory, old, rows) for memory, old in pairs]
        for buffer, tokens in zip(self._buffers, moved, strict=True):
            buffer[:rows, :, self._prompt : used] = tokens
        self._show(rows, used)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self._buffers:
            return super().update(key_states, value_states)
        rows, used = len(key_states), self.keys.shape[-2]
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:rows, :, used : used + 1] = new
        self._show(rows, used + 1)
        return self.keys, self.values

    def _show(self, rows: int, used: int) -> None:
        self.keys, self.values = (buffer[:rows, :, :used] for buffer in self._buffers)

    def _spread(self, memory: torch.Tensor, held: torch.Tensor, rows: int) -> torch.Tensor:
        """A buffer for `rows` beams, in `memory` made large enough, every prompt that of row 0."""
        _, heads, _, size = held.shape
        shape = (rows, heads, self._prompt + self._tail, size)
        prompt = held[:1, :, : self._prompt].clone()
        need = torch.Size(shape).numel()
        if memory.numel() < need:
            memory.resize_(need)
        buffer = memory[:need].view(shape)
        buffer[:, :, : self._prompt] = prompt
        return buffer

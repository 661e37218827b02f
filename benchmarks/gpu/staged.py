"""Batches of one decode step: their work, inputs on the device, and what attention must give."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any

import torch

from benchmarks.gpu.floor import Work

# elements of a head, own tokens of a beam, bytes of a bfloat16
SIZE, OWN, ITEM = 128, 3, 2
HEADS = ((16, 8), (32, 8))
# greatest error of a bfloat16 result, relative to the greatest value that it should hold
TOLERANCE = 0.02


@dataclass(frozen=True, slots=True)
class Batch:
    """A decode step of requests.

    Attributes:
        heads, groups: query and K/V heads.
        lengths: prompt tokens of each request.
        widths: rows of each request.
        live: live rows of each request.
        size: elements of a head.
        dtype: of two bytes.
    """

    heads: int
    groups: int
    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    live: tuple[int, ...]
    size: int = SIZE
    dtype: str = "bfloat16"

    @classmethod
    def uniform(
        cls, heads: tuple[int, int], requests: int, width: int, tokens: int, **kind: Any
    ) -> Batch:
        """Requests of one width and one prompt length, all rows live; `kind` is size and dtype."""
        each = (width,) * requests
        return cls(*heads, (tokens,) * requests, each, each, **kind)

    @property
    def rows(self) -> int:
        """Rows of all requests, dead ones too."""
        return sum(self.widths)

    @property
    def work(self) -> Work:
        """Prompts once, own K/V, queries and results of live rows; both products of each key."""
        vector = self.size * ITEM
        moved = 2 * self.groups * (sum(self.lengths) + OWN * sum(self.live))
        moved += 2 * self.heads * sum(self.live)
        keys = sum(n * (t + OWN) for n, t in zip(self.live, self.lengths, strict=True))
        return Work(moved * vector, 4 * self.heads * self.size * keys)

    def even(self) -> Batch:
        """Uniform requests with as many live rows and, within a tile of 64, as many products."""
        requests, live = len(self.widths), sum(self.live)
        products = sum(n * t for n, t in zip(self.live, self.lengths, strict=True))
        tokens = max(64, round(products / live / 64) * 64)
        heads = (self.heads, self.groups)
        kind = {"size": self.size, "dtype": self.dtype}
        return Batch.uniform(heads, requests, round(live / requests), tokens, **kind)

    def __str__(self) -> str:
        def spread(values: Sequence[int]) -> str:
            low, high = min(values), max(values)
            return str(low) if low == high else f"{low}-{high}"

        size = f" d{self.size}" if self.size != SIZE else ""
        kind = f" {self.dtype}" if self.dtype != "bfloat16" else ""
        return (
            f"{self.heads}/{self.groups}{size}{kind} B{len(self.widths)} "
            f"BW{spread(self.widths)} L{spread(self.lengths)}"
        )


def grid() -> Sequence[Batch]:
    """The 72 uniform batches of the comparison."""
    sizes = product(HEADS, (1, 4, 16), (128, 256, 512), (256, 1024, 3072, 8192))
    return [Batch.uniform(*one) for one in sizes]


def representative() -> Sequence[Batch]:
    """24 batches of the grid, of every number of requests, width and length."""
    sizes = {
        1: ((128, 256), (128, 1024), (512, 1024), (256, 3072)),
        4: ((128, 256), (256, 1024), (128, 3072), (512, 8192)),
        16: ((128, 1024), (512, 256), (256, 3072), (512, 8192)),
    }
    return [Batch.uniform(heads, b, *one) for heads in HEADS for b in sizes for one in sizes[b]]


def others() -> Sequence[Batch]:
    """Batches of other models: sizes of heads, query heads of a K/V head, float16."""
    models: Sequence[tuple[tuple[int, int], int, str]] = (
        ((32, 8), 64, "bfloat16"), ((32, 32), 96, "bfloat16"), ((16, 1), 256, "bfloat16"),
        ((8, 8), 128, "bfloat16"), ((32, 4), 128, "bfloat16"), ((32, 2), 128, "bfloat16"),
        ((28, 4), 128, "bfloat16"), ((16, 8), 128, "float16"),
    )  # fmt: skip
    sizes = ((1, 128, 1024), (4, 256, 1024), (4, 512, 8192), (16, 128, 3072))
    return [
        Batch.uniform(heads, *batch, size=size, dtype=dtype)
        for (heads, size, dtype), batch in product(models, sizes)
    ]


def ragged() -> Sequence[Batch]:
    """Six batches with prompts of 256 to 8192 tokens and widths of 128 to 512, a fifth dead."""
    rng, found = random.Random(0), []
    for heads, requests in product(HEADS, (4, 8, 16)):
        lengths = tuple(round(2 ** rng.uniform(8, 13)) for _ in range(requests))
        widths = tuple(rng.randint(128, 512) for _ in range(requests))
        found.append(Batch(*heads, lengths, widths, tuple(round(0.8 * w) for w in widths)))
    return found


class Inputs:
    """One set of arguments on the device, with results to write to.

    Own keys follow their beam's query, so that they weigh about as much as the prompt: a column
    that leaves them out is found.

    Args:
        batch: what to make.
        filled: False leaves the values as they are in memory, where only shapes matter.
    """

    def __init__(self, batch: Batch, filled: bool = True, device: str = "cuda") -> None:
        self.batch = batch
        kind: dict[str, Any] = {"device": device, "dtype": getattr(torch, batch.dtype)}
        make = torch.randn if filled else torch.empty
        rows, tokens, groups, size = batch.rows, sum(batch.lengths), batch.groups, batch.size
        self.q = make(rows, batch.heads, size, **kind)
        self.k, self.v = (make(tokens, groups, size, **kind) for _ in range(2))
        self.k_own, self.v_own = (make(rows, OWN, groups, size, **kind) for _ in range(2))
        if filled:
            weight = math.log(max(batch.lengths)) / math.sqrt(size)
            first = self.q[:, :: batch.heads // groups]
            self.k_own = self.k_own * 0.1 + (first * weight)[:, None]
        self.out = torch.empty_like(self.q)
        self.lse = torch.empty(rows, batch.heads, device=device)
        self.prompt_start = starts(batch.lengths, device)[:-1]
        self.prompt_len = ints(batch.lengths, device)
        self.row_start = starts(batch.widths, device)
        self.live = ints(batch.live, device)
        self._exact: dict[int, torch.Tensor] = {}

    def arguments(self) -> dict[str, Any]:
        """Of the op `staged_attention`."""
        return {
            "q": self.q, "k": self.k, "v": self.v,
            "k_unshared": self.k_own, "v_unshared": self.v_own,
            "prompt_start": self.prompt_start, "prompt_len": self.prompt_len,
            "row_start": self.row_start, "live": self.live,
            "out": self.out, "lse": self.lse,
            "step": OWN, "scale": self.batch.size**-0.5,
        }  # fmt: skip

    def check(self, column: str, got: torch.Tensor) -> None:
        """Hold the first and last live row of the first, a middle and the last request to float32.

        Raises:
            ValueError: they differ by more than bfloat16 explains.
        """
        count = len(self.batch.widths)
        for request in sorted({0, count // 2, count - 1}):
            begin = sum(self.batch.widths[:request])
            for row in (begin, begin + self.batch.live[request] - 1):
                want = self._wanted(request, row)
                error = float((got[row].float() - want).abs().max() / want.abs().max())
                if not error <= TOLERANCE:
                    raise ValueError(
                        f"{column} is wrong by {error:.3g} of the greatest value in row {row} of "
                        f"{self.batch}, allowed: {TOLERANCE}"
                    )

    def _wanted(self, request: int, row: int) -> torch.Tensor:
        """[H, d] of a row in float32; computed once."""
        if row not in self._exact:
            first = sum(self.batch.lengths[:request])
            prompt = slice(first, first + self.batch.lengths[request])
            group = self.batch.heads // self.batch.groups
            k, v = (
                torch.cat((a[prompt], own[row])).float().repeat_interleave(group, dim=1)
                for a, own in ((self.k, self.k_own), (self.v, self.v_own))
            )  # [L + OWN, H, d]
            scores = torch.einsum("hd,thd->ht", self.q[row].float(), k) * self.batch.size**-0.5
            self._exact[row] = torch.einsum("ht,thd->hd", scores.softmax(1), v)
        return self._exact[row]


def ints(values: Sequence[int], device: str = "cuda") -> torch.Tensor:
    """int32 on the device."""
    return torch.tensor(values, dtype=torch.int32, device=device)


def starts(sizes: Sequence[int], device: str = "cuda") -> torch.Tensor:
    """int32 [n + 1]: where each of the neighbours begins, and where the last one ends."""
    return ints([0, *accumulate(sizes)], device)

"""Packed prompts whose queries attend to their own keys: work, inputs, and what must come out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.gpu.floor import Work
from benchmarks.gpu.staged import SIZE, TOLERANCE, ints, starts
from xgr import Problem

HEADS, GROUPS, ITEM = 16, 8, 2


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prompts side by side, by their tokens."""

    lengths: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Of all prompts."""
        return sum(self.lengths)

    @property
    def work(self) -> Work:
        """Queries, results, keys and values once; both products of the keys that a query sees."""
        seen = sum(n * (n + 1) // 2 for n in self.lengths)
        return Work(self.tokens * 2 * (HEADS + GROUPS) * SIZE * ITEM, 4 * HEADS * SIZE * seen)

    @property
    def problem(self) -> Problem:
        """What is bound."""
        sizes = {"N": self.tokens, "T": self.tokens, "B": len(self.lengths)}
        flags = {"causal": True, "bias": False}
        op = "prefill_attention"
        return Problem.of(op, "bfloat16", flags, H=HEADS, G=GROUPS, d=SIZE, **sizes)

    def __str__(self) -> str:
        low, high = min(self.lengths), max(self.lengths)
        return f"{len(self.lengths)}x{low}" + ("" if low == high else f"-{high}")


def batches() -> Sequence[Prompts]:
    """One short prompt and one long, sixteen, and sixteen of 256 to 2048 tokens."""
    rng = random.Random(0)
    uneven = tuple(round(2 ** rng.uniform(8, 11)) for _ in range(16))
    uniform = ((256,), (1024,), (1024,) * 4, (1024,) * 16, (8192,))
    return [Prompts(lengths) for lengths in (*uniform, uneven)]


class Inputs:
    """One set of arguments of `prefill_attention`, with results to write to."""

    def __init__(self, prompts: Prompts, device: str = "cuda") -> None:
        self.prompts, count = prompts, prompts.tokens
        kind: dict[str, Any] = {"device": device, "dtype": torch.bfloat16}
        self.q = torch.randn(count, HEADS, SIZE, **kind)
        self.k, self.v = (torch.randn(count, GROUPS, SIZE, **kind) for _ in range(2))
        self.out = torch.empty_like(self.q)
        self.starts = starts(prompts.lengths, device)
        self.lengths = ints(prompts.lengths, device)

    def arguments(self) -> dict[str, Any]:
        """Of the op."""
        return {
            "q": self.q, "k": self.k, "v": self.v, "out": self.out,
            "q_start": self.starts, "prompt_start": self.starts[:-1], "prompt_len": self.lengths,
            "bias": None, "causal": True, "max_distance": 128, "scale": SIZE**-0.5,
        }  # fmt: skip

    def check(self, column: str, got: torch.Tensor) -> None:
        """Hold a middle and the last query of the first and the last prompt to float32.

        Raises:
            ValueError: they differ by more than bfloat16 explains.
        """
        found = got.reshape(self.q.shape)
        lengths = self.prompts.lengths
        for begin, tokens in ((0, lengths[0]), (sum(lengths[:-1]), lengths[-1])):
            for last in (tokens // 2, tokens - 1):
                keys, row = slice(begin, begin + last + 1), begin + last
                k, v = (
                    one[keys].float().repeat_interleave(HEADS // GROUPS, dim=1)
                    for one in (self.k, self.v)
                )
                scores = torch.einsum("hd,thd->ht", self.q[row].float(), k) * SIZE**-0.5
                want = torch.einsum("ht,thd->hd", scores.softmax(1), v)
                error = float((found[row].float() - want).abs().max() / want.abs().max())
                if not error <= TOLERANCE:
                    raise ValueError(
                        f"{column} is wrong by {error:.3g} of the greatest value in row {row} of "
                        f"{self.prompts}, allowed: {TOLERANCE}"
                    )

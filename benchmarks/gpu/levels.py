"""Levels of beam search: a catalogue, beams at its nodes, logits, and what must survive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.gpu.floor import Work
from benchmarks.gpu.kernels import Config, build, named
from benchmarks.gpu.staged import ints
from benchmarks.gpu.timing import Call
from xgr import Problem, Runtime
from xgr.backends.tensors import TORCH_TYPES
from xgr.catalog import Catalogue
from xgr.catalog.device import Served
from xgr.ops.array import Trie
from xgr.ops.dtype import dtype
from xgr.ops.tries import random_sids

# columns of the logits, but for catalogues of small codebooks
CODES = 8192
# catalogues: items, how many codes of the first and of the other levels they use, and of how many
CATALOGUES: Mapping[str, tuple[int, int, int, int]] = {
    "dense": (1_000_000, 2048, CODES, CODES),  # of the second level, 6 % under each node
    "random": (1_000_000, CODES, CODES, CODES),
    "games": (17_000, 256, 256, CODES),
    "small": (17_000, 256, 256, 256),
}


@dataclass(frozen=True, slots=True)
class Level:
    """One call of beam_step.

    Attributes:
        requests, width: B, and the rows of each in and out.
        catalogue: a name of `CATALOGUES`, or "none": every code is legal.
        level: of the catalogue.
        normalize: of the op.
        data: "flat" or "peaked" logits.
        dtype: of the logits; an engine's are float32.
    """

    requests: int
    width: int
    catalogue: str
    level: int
    normalize: str
    data: str
    dtype: str = "bfloat16"

    @property
    def item(self) -> int:
        """Bytes of a logit."""
        return dtype(self.dtype).itemsize

    @property
    def codes(self) -> int:
        """Columns of the logits."""
        return CATALOGUES[self.catalogue][3] if self.catalogue in CATALOGUES else CODES

    @property
    def order(self) -> str:
        """By rank at the last level."""
        return "rank" if self.level == 2 else "path"

    def __str__(self) -> str:
        return (
            f"B{self.requests} BW{self.width} {self.catalogue} level{self.level} "
            f"{self.normalize} {self.data}" + (f" {self.dtype}" if self.dtype != "bfloat16" else "")
        )


def levels(logits: str = "bfloat16") -> Sequence[Level]:
    """Every code legal, many children, few and one; by each normalisation of flat and peaked."""
    catalogues = ("random", "games", "small")
    places = [("none", 1), ("dense", 1), *product(catalogues, (1, 2))]
    found = product((1, 4, 16), (128, 256, 512), places, ("level", "children", "vocab"), _DATA)
    return [Level(b, w, *place, normalize, data, logits) for b, w, place, normalize, data in found]


def swept(logits: str = "bfloat16") -> Sequence[Level]:
    """Widths of 512 where rows are read whole and where children are looked up."""
    whole, gathered = ("none", "dense"), (("random", 1), ("random", 2))
    places = [(name, 1, "level") for name in whole] + [(*one, "vocab") for one in gathered]
    found = product((1, 16), places, _DATA)
    return [Level(b, 512, *place, data, logits) for b, place, data in found]


_DATA = ("flat", "peaked")


class Beams:
    """What the input sets of a level share: catalogue, nodes, rows.

    Attributes:
        device: where the tensors are.
        live: live rows of each request: no two beams stand at one node.
        legal: bool [rows, K], None where every code is legal.
        work: one read of the live rows' logits; of the children's alone where that is enough.
    """

    def __init__(self, rt: Runtime, level: Level, device: str = "cuda") -> None:
        self.level, self.device = level, device
        rows = level.requests * level.width
        self.trie = None if level.catalogue == "none" else _trie(rt, level.catalogue)
        self.live, self.legal = level.width, None
        node = np.zeros(rows, np.int32)
        children = level.width * level.codes
        if self.trie is not None:
            levels = _host(level.catalogue).levels
            exist = len(levels[level.level - 1].code)
            self.live = min(level.width, exist)
            rng = np.random.default_rng(0)
            for request in range(level.requests):
                drawn = np.sort(rng.choice(exist, self.live, replace=False))
                node[request * level.width :][: self.live] = drawn
            self.legal, children = self._legal(node)
        self.node = ints(node.tolist(), device)
        self.row_start = ints(range(0, rows + 1, level.width), device)
        self.counts = ints([self.live] * level.requests, device)
        self.width = ints([level.width] * level.requests, device)
        read = level.requests * self.live * level.codes * level.item
        if level.normalize != "level":
            read = min(read, children * (level.item + 4))  # a logit and its code
        self.work = Work(read)

    def _legal(self, node: NDArray[np.int32]) -> tuple[torch.Tensor, int]:
        """Legal codes of each row, and how many there are in all."""
        levels, width = _host(self.level.catalogue).levels, self.level.width
        first = np.asarray(levels[self.level.level - 1].first_child)
        code = np.asarray(levels[self.level.level].code)
        alive = np.arange(len(node)) % width < self.live
        low, high = first[node], np.where(alive, first[node + 1], first[node])
        count = high - low
        row = np.repeat(np.arange(len(node)), count)
        child = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        legal = torch.zeros(len(node), self.level.codes, dtype=torch.bool, device=self.device)
        where = (row, code[np.repeat(low, count) + child])
        legal[tuple(torch.from_numpy(one).long().to(self.device) for one in where)] = True
        return legal, int(count.sum())

    def lse(self, logits: torch.Tensor) -> torch.Tensor:
        """float32 [rows], of each row's logits as the level normalises them."""
        if self.level.normalize == "children" and self.legal is not None:
            return logits.float().masked_fill(~self.legal, float("-inf")).logsumexp(1)
        return logits.float().logsumexp(1)

    def scores(self, logits: torch.Tensor, cumulative: torch.Tensor) -> torch.Tensor:
        """float32 [B, width * K] of every code, -inf where it is not legal."""
        found = logits.float() + (cumulative - self.lse(logits))[:, None]
        if self.legal is not None:
            found = found.masked_fill_(~self.legal, float("-inf"))
        return found.view(self.level.requests, -1)


class Set:
    """One set of arguments and results."""

    def __init__(self, beams: Beams) -> None:
        self.beams, device = beams, beams.device
        shape = (beams.level.requests * beams.level.width, beams.level.codes)
        noise = torch.randn(shape, device=device)
        if beams.level.data == "flat":
            noise *= 0.1
        else:
            where = torch.randint(shape[1], (shape[0], 8), device=device)
            noise.scatter_add_(1, where, torch.full(where.shape, 12.0, device=device))
        self.logits = noise.to(TORCH_TYPES[beams.level.dtype])
        self.cumulative = -torch.rand(shape[0], device=device)
        self.lse = beams.lse(self.logits) if beams.level.normalize == "vocab" else None
        self.outputs = {
            name: torch.empty(shape[0], dtype=torch.int32, device=device)
            for name in ("parent", "code", "node_out")
        }
        self.outputs["cumulative_out"] = torch.empty(shape[0], device=device)
        for name in ("live_out", "status"):
            self.outputs[name] = ints([0] * beams.level.requests, device)

    def arguments(self) -> dict[str, Any]:
        """Of the op `beam_step`."""
        beams, level = self.beams, self.beams.level
        return {
            "logits": self.logits, "lse": self.lse, "cumulative": self.cumulative,
            "node": beams.node, "row_start": beams.row_start, "live": beams.counts,
            "row_start_out": beams.row_start, "out_width": beams.width, "trie": beams.trie,
            "filters": None, "level": level.level, "normalize": level.normalize,
            "order": level.order, **self.outputs,
        }  # fmt: skip

    def check(self, column: str) -> None:
        """Hold the survivors' scores to torch's topk.

        Raises:
            ValueError: they differ.
        """
        level = self.beams.level
        got = self.outputs["cumulative_out"].view(level.requests, -1)
        want = self.beams.scores(self.logits, self.cumulative).topk(level.width, dim=1).values
        got = got.sort(dim=1, descending=True).values
        if not torch.allclose(got, want, rtol=1e-5, atol=1e-4) or self.outputs["status"].any():
            worst = float((got - want).nan_to_num().abs().max())
            raise ValueError(f"{column} is wrong by {worst:.3g} at {level}")


def ours(rt: Runtime, sets: Sequence[Set]) -> Sequence[Call]:
    """The op on each set, bound by the dispatch rule."""
    return _calls(rt.bind("beam_step", problem(rt, sets[0])), sets)


def configured(rt: Runtime, sets: Sequence[Set], kernel: str, config: Config) -> Sequence[Call]:
    """The op on each set, by a kernel with values of its tunables."""
    return _calls(build(rt, named(rt, "beam_step", kernel), problem(rt, sets[0]), config), sets)


def _calls(launch: Callable[..., None], sets: Sequence[Set]) -> Sequence[Call]:
    def call(arguments: dict[str, Any]) -> Call:
        return lambda: launch(**arguments)

    return [call(one.arguments()) for one in sets]


def problem(rt: Runtime, one: Set) -> Problem:
    """What is bound for a set."""
    return rt.problem("beam_step", **one.arguments())


@cache
def _host(name: str) -> Any:
    return _catalogue(name).trie


@cache
def _catalogue(name: str) -> Catalogue:
    items, first, others, codes = CATALOGUES[name]
    sids = random_sids(np.random.default_rng(0), (first, others, others), items)
    return Catalogue.from_sids(sids, level_sizes=(codes,) * 3)


@cache
def _trie(rt: Runtime, name: str) -> Trie:
    return Served(rt, 0).trie(_catalogue(name))

"""Which problems are measured: a sample of what the engine binds, spread evenly over its range.

Problem i is point i of an additive recurrence in six dimensions (Roberts, "The unreasonable
effectiveness of quasirandom sequences", 2018), so that every beginning of the sample is spread as
well: a run that is cut short has seen small and large alike. Sizes are spread by their logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from xgr.backends.base import Backend
from xgr.ops import spec
from xgr.ops.spec import Flag, Problem

Flags = Mapping[str, Flag]
Model = Mapping[str, int]
Span = tuple[int, int]

# every so many problems one is held out of the fit
HELD_OUT = 4


@dataclass(frozen=True, slots=True)
class Range:
    """What problems of a device are drawn from; spans are inclusive.

    Attributes:
        requests: of a batch; few numbers, as kernels are compiled for each.
        width: rows of a request.
        prompt: tokens of a request.
        codes: of a level.
        models: H, G and d.
        most: operations of a problem, or bytes where it has none.
    """

    requests: Sequence[int]
    width: Span
    prompt: Span
    codes: Sequence[int]
    models: Sequence[Model]
    most: float


# Qwen3 0.6B and 4B
_GPU = Range(
    (1, 4, 16), (64, 512), (128, 8192), (1024, 8192),
    ({"H": 16, "G": 8, "d": 128}, {"H": 32, "G": 8, "d": 128}), 1e12,
)  # fmt: skip
# the demo model and one twice as wide
_CPU = Range(
    (1, 2, 4), (8, 64), (32, 512), (64, 256, 1024),
    ({"H": 4, "G": 2, "d": 32}, {"H": 8, "G": 4, "d": 64}), 2e8,
)  # fmt: skip
RANGES: Mapping[str, Range] = {"cuda": _GPU, "cpu_ref": _CPU}

# own slots of a beam: a catalogue of three levels
SLOTS = 2

# points in a row that give no new problem, after which a range is taken to be exhausted
_MISSES = 200


def problems(op: str, dtype: str, backend: Backend) -> Iterator[Problem]:
    """Problems, no two alike, until the range has hardly any more.

    Raises:
        KeyError: an op of which there is no sample.
    """
    drawn, seen = RANGES.get(backend.name, _GPU), set[Problem]()
    pose, declared = SAMPLED[op], spec(op)
    misses = 0
    for at in count(1):
        problem = pose(_Point(at, drawn, backend), dtype)
        work = declared.flops(problem) or declared.bytes(problem)
        if problem not in seen and work <= drawn.most:
            seen.add(problem)
            misses = 0
            yield problem
        elif (misses := misses + 1) == _MISSES:
            return


class _Point:
    """A point of the sequence, and what it says of a range."""

    def __init__(self, at: int, drawn: Range, backend: Backend) -> None:
        shares = [(0.5 + at * step) % 1 for step in _STEPS]
        self.requests = drawn.requests[int(shares[0] * len(drawn.requests))]
        width = _multiple(_spread(shares[1], drawn.width), backend.row_granule)
        self.rows = self.requests * width
        tokens = self.requests * _spread(shares[2], drawn.prompt)
        self.tokens = _multiple(tokens, backend.token_granule)
        self.codes = drawn.codes[int(shares[3] * len(drawn.codes))]
        self.model = drawn.models[int(shares[4] * len(drawn.models))]
        self._rest = shares[5]

    def one_of(self, choices: Sequence[Flags]) -> Flags:
        return choices[int(self._rest * len(choices))]


# powers of 1 / r, where r^7 = r + 1
_STEPS = [1.1127756842787055**-power for power in range(1, 7)]


def _spread(share: float, span: Span) -> float:
    low, high = span
    return low * math.exp(share * math.log(high / low))


def _multiple(value: float, granule: int) -> int:
    return max(1, round(value / granule)) * granule


def _staged(at: _Point, dtype: str) -> Problem:
    flags = {"ancestors": True}  # as the engine poses it
    sizes = {"R": at.rows, "T": at.tokens, "B": at.requests, "S": SLOTS}
    return Problem.of("staged_attention", dtype, flags, **sizes, **at.model)


def _shared(at: _Point, dtype: str) -> Problem:
    sizes = {"R": at.rows, "T": at.tokens, "B": at.requests}
    return Problem.of("shared_attention", dtype, {}, **sizes, **at.model)


def _prefill(at: _Point, dtype: str) -> Problem:
    sizes = {"N": at.tokens, "T": at.tokens, "B": at.requests}
    flags = {"causal": True, "bias": False}
    return Problem.of("prefill_attention", dtype, flags, **sizes, **at.model)


def _sort(at: _Point, dtype: str) -> Problem:
    flags = at.one_of(({"order": "path"}, {"order": "rank"}))
    sizes = {"R": at.rows, "RO": at.rows, "C": at.codes, "B": at.requests}
    return Problem.of("beam_sort", dtype, flags, **sizes)


_SCORED: Sequence[Flags] = [
    {"trie": True, "filters": some, "lse": norm == "vocab", "normalize": norm, "order": order}
    for some, order in ((False, "path"), (False, "rank"), (True, "path"))
    for norm in ("vocab", "level")
]


def _step(at: _Point, dtype: str) -> Problem:
    flags = at.one_of(_SCORED)
    sizes = {"R": at.rows, "RO": at.rows, "K": at.codes, "B": at.requests}
    return Problem.of("beam_step", dtype, flags, **sizes)


SAMPLED: Mapping[str, Callable[[_Point, str], Problem]] = {
    "beam_sort": _sort,
    "beam_step": _step,
    "prefill_attention": _prefill,
    "shared_attention": _shared,
    "staged_attention": _staged,
}

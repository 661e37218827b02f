"""Arguments of a problem on a device: even batches, random numbers, a random catalogue."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from xgr.backends.host import NUMPY_TYPES
from xgr.catalog import Catalogue
from xgr.catalog.device import FilterBuffers, Served
from xgr.ops import spec
from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, Problem
from xgr.ops.tries import random_sids
from xgr.runtime import Runtime

Arguments = dict[str, Any]

# random numbers that fill an array again and again, and items of a catalogue of three levels
_NUMBERS, _ITEMS = 1 << 20, 200_000


def arguments(
    rt: Runtime, problem: Problem, count: int = 1, filled: bool = True
) -> list[Arguments]:
    """Sets of every argument of the op, outputs included, all rows live.

    Args:
        rt: where.
        problem: of an op of `sample.SAMPLED`; requests share rows and tokens evenly.
        count: sets; they share the batch and the catalogue, and nothing else.
        filled: False leaves floats as they are in memory, where nothing reads the results.
    """
    declared = spec(problem.op)
    given = _GIVEN[problem.op](rt, problem)
    shared = {n: rt.upload(v) if isinstance(v, list) else v for n, v in given.items()}
    shared |= {s.name: problem.flag(s.name) for s in declared.scalars if s.flag}
    own = [a for a in declared.args if a.name not in shared]
    absent = {a.name: None for a in own if a.optional and not problem.flag(a.name)}
    made = [a for a in own if a.name not in absent]
    return [
        {**shared, **absent, **{a.name: _array(rt, problem, a, filled) for a in made}}
        for _ in range(count)
    ]


def _array(rt: Runtime, problem: Problem, arg: Arg, filled: bool) -> Any:
    kind = dtype(problem.dtype if arg.dtype == "model" else arg.dtype)
    shape = spec(problem.op).shape(arg, problem.sizes)
    if arg.role == "out" or not filled:
        return rt.empty(shape, kind)
    return rt.upload(np.resize(_numbers(kind.name), shape), kind)


def plan(launch: Callable[..., None], problem: Problem) -> None:
    """Tell a launcher the batch, where it wants to know."""
    tell = getattr(launch, "plan", None)
    if tell is not None:
        a = problem.sizes
        lengths = even(a.get("T", 0), a["B"])
        tell(_starts(lengths)[:-1], lengths, even(a.get("R", 0), a["B"]))


def even(total: int, parts: int) -> list[int]:
    """A total in parts that differ by one at most."""
    return [(total * (i + 1)) // parts - (total * i) // parts for i in range(parts)]


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)]


@functools.cache
def _numbers(kind: str) -> Any:
    return np.random.default_rng(0).standard_normal(_NUMBERS, np.float32).astype(NUMPY_TYPES[kind])


def _attention(rt: Runtime, problem: Problem) -> Arguments:
    a = problem.sizes
    widths, lengths = even(a["R"], a["B"]), even(a["T"], a["B"])
    given: Arguments = {
        "prompt_start": _starts(lengths)[:-1],
        "prompt_len": lengths,
        "row_start": _starts(widths),
        "live": widths,
        "scale": a["d"] ** -0.5,
    }
    if "S" in a:
        given["step"] = a["S"]
    if problem.flag("ancestors"):
        given["ancestors"] = np.repeat(np.arange(a["R"], dtype=np.int32), a["S"]).reshape(
            a["R"], a["S"]
        )
        given["ancestors"] = rt.upload(given["ancestors"])
    return given


def _prefill(rt: Runtime, problem: Problem) -> Arguments:
    a = problem.sizes
    lengths = even(a["T"], a["B"])
    starts = _starts(lengths)
    given: Arguments = {"q_start": starts, "prompt_start": starts[:-1], "prompt_len": lengths}
    return given | {"max_distance": 128, "scale": a["d"] ** -0.5}


def _sort(rt: Runtime, problem: Problem) -> Arguments:
    a = problem.sizes
    rows, out = even(a["R"], a["B"]), even(a["RO"], a["B"])
    return {
        "row_start": _starts(rows),
        "live": rows,
        "row_start_out": _starts(out),
        "out_width": out,
    }


def _step(rt: Runtime, problem: Problem) -> Arguments:
    a = problem.sizes
    given = _sort(rt, problem) | {"node": [0] * a["R"], "status": [0] * a["B"], "level": 1}
    if problem.flag("trie"):
        catalogue = _catalogue(a["K"])
        served = Served(rt, 1)
        words = served.words(catalogue)
        given["trie"] = served.trie(catalogue)
        if problem.flag("filters"):
            buffers = FilterBuffers(rt, len(given["trie"].levels), a["B"], 1024)
            buffers.write([None] * a["B"], served)
            given["filters"] = buffers.over(words)
        given["node"], given["live"] = _beams(given["live"], catalogue.trie.levels[0].code.shape[0])
    return given


def _beams(widths: Sequence[int], nodes: int) -> tuple[list[int], list[int]]:
    """Nodes of a level, no two beams of a request at one, and the beams that find some."""
    rng, node = np.random.default_rng(0), []
    for width in widths:
        drawn = np.sort(rng.choice(nodes, min(width, nodes), replace=False)).tolist()
        node += drawn + [0] * (width - len(drawn))
    return node, [min(width, nodes) for width in widths]


@functools.cache
def _catalogue(codes: int) -> Catalogue:
    sids = random_sids(np.random.default_rng(0), (codes,) * 3, _ITEMS)
    return Catalogue.from_sids(sids, level_sizes=(codes,) * 3)


_GIVEN: Mapping[str, Callable[[Runtime, Problem], Arguments]] = {
    "beam_sort": _sort,
    "beam_step": _step,
    "prefill_attention": _prefill,
    "shared_attention": _attention,
    "staged_attention": _attention,
}

"""Reductions that Triton 3.6 compiles wrong: over lanes of a warp that are no neighbours.

It exchanges lanes at distances of n, n / 2, .. 1 times the least one along the axis. The layout of
a reshaped tensor may place the axis on lanes apart from each other, as bits 0 and 4 of a lane's
number; then others are exchanged. Nothing says so, and a CPU interprets the kernel right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

# the element that each bit of a lane's number goes to, in coordinates of the tensor
Bases = Sequence[Sequence[int]]

_LINEAR = re.compile(r"^#(\w+) = #ttg\.linear<\{register = .*?, lane = (\[.*?\]), warp", re.M)
_REDUCED = re.compile(
    r'"tt\.(reduce|scan)"\(.*?<\{axis = (\d+) : i32.*?'
    r"^\s*\}\) : \(tensor<[\dx]+x\w+, ([^)]*?)>[,)]",
    re.M | re.S,
)


def scattered(ttgir: str) -> Sequence[str]:
    """What a kernel does over lanes that are no neighbours; empty where it is compiled right.

    Args:
        ttgir: the kernel in Triton's GPU dialect.
    """
    known = {name: json.loads(lanes) for name, lanes in _LINEAR.findall(ttgir)}
    return list(dict.fromkeys(_faults(ttgir, known)))


def _faults(ttgir: str, known: Mapping[str, Bases]) -> Iterator[str]:
    for what, axis, layout in _REDUCED.findall(ttgir):
        bases = _lanes(layout.strip(), known)
        bits = [bit for bit, base in enumerate(bases) if base[int(axis)]]
        if bits and bits[-1] - bits[0] >= len(bits):
            yield f"a {what} over bits {bits} of the lanes, which Triton takes to be neighbours"


def _lanes(layout: str, known: Mapping[str, Bases]) -> Bases:
    """Of a linear layout, or a slice of one; others keep an axis on neighbours."""
    if cut := re.fullmatch(r"#ttg\.slice<\{dim = (\d+), parent = (.*)\}>", layout):
        dim = int(cut[1])
        return [[*base[:dim], *base[dim + 1 :]] for base in _lanes(cut[2], known)]
    return known.get(layout.removeprefix("#"), [])

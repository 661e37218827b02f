"""What a tuned table may ask of a problem: sizes, ratios of them, and flags as 0 or 1.

A bind knows buckets and no batches: widths and prompt lengths are means over a bucket's requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xgr.ops.spec import OpSpec, Problem

Sizes = Mapping[str, int]

# name -> the axes that it needs, and its value: rows of a request, tokens of a prompt, query heads
# of a K/V head, query vectors, and query vectors of a K/V head and request
RATIOS: Mapping[str, tuple[tuple[str, ...], Callable[[Sizes], int]]] = {
    "width": (("R", "B"), lambda a: a["R"] // max(1, a["B"])),
    "prompt": (("T", "B"), lambda a: a["T"] // max(1, a["B"])),
    "group": (("H", "G"), lambda a: a["H"] // max(1, a["G"])),
    "vectors": (("R", "H"), lambda a: a["R"] * a["H"]),
    "shared": (("R", "H", "G", "B"), lambda a: a["R"] * a["H"] // max(1, a["G"] * a["B"])),
}


def names(spec: OpSpec) -> tuple[str, ...]:
    """The features of an op's problems: axes, ratios, `flag` or `flag=choice`."""
    ratios = [name for name, (axes, _) in RATIOS.items() if set(axes) <= set(spec.axes)]
    flags = [arg.name for arg in spec.args if arg.optional]
    for scalar in spec.scalars:
        if scalar.flag:
            flags += [f"{scalar.name}={c}" for c in scalar.choices] or [scalar.name]
    return (*spec.axes, *ratios, *flags)


def values(problem: Problem, wanted: tuple[str, ...]) -> tuple[int, ...]:
    """Features of a problem by name; 0 for the size of an axis that it does not have."""
    sizes, flags = problem.sizes, dict(problem.flags)
    return tuple(_value(name, sizes, flags) for name in wanted)


def _value(name: str, sizes: Sizes, flags: Mapping[str, object]) -> int:
    if name in sizes:
        return sizes[name]
    if name in RATIOS:
        axes, ratio = RATIOS[name]
        return ratio(sizes) if all(axis in sizes for axis in axes) else 0
    flag, equals, choice = name.partition("=")
    return int(flags.get(flag) == choice if equals else bool(flags.get(flag, False)))

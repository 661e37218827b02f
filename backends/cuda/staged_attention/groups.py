"""Core groups: how the SMs are divided between the shared and the unshared stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xgr.backends.cuda.staged_attention.heuristic import LARGEST_HEAD, WARPGROUP
from xgr.errors import InputError
from xgr.ops.spec import Problem

# SMs of the unshared stage that are worth measuring, in 32nds of all: 4 to 66 of 132
SHARES = (1, 2, 4, 8, 12, 16)
SPLIT: Mapping[str, Any] = {
    "tunables": ("shared_cores", "unshared_cores"),
    "limits": {"d": (1, LARGEST_HEAD)},
    "space": f"{__name__}:space",
}


def divide(problem: Problem, cores: int, config: Mapping[str, int]) -> tuple[int, int]:
    """SMs of the shared and of the unshared stage.

    By the keys that a tile of queries meets in each, and none with less than a 16th; a value of
    `config` overrules.

    Raises:
        InputError: such a value is below 1 or more than the device has.
    """
    for name, value in config.items():
        if not 1 <= value <= cores:
            raise InputError(f"{name}={value}, allowed: 1 to {cores}, the SMs of this device")
    a = problem.sizes
    own = a["S"] * max(1, WARPGROUP * a["G"] // a["H"])
    keys = own + a["T"] // max(1, a["B"])
    part = min(max(own / max(1, keys), 1 / 16), 15 / 16)
    unshared = config.get("unshared_cores", max(1, round(cores * part)))
    return config.get("shared_cores", max(1, cores - unshared)), unshared


def space(problem: Problem, cores: int, arch: int) -> Sequence[Mapping[str, int]]:
    """Divisions worth measuring; none leaves an SM out."""
    counts = dict.fromkeys(max(1, cores * share // 32) for share in SHARES)
    return [{"shared_cores": cores - one, "unshared_cores": one} for one in counts if one < cores]

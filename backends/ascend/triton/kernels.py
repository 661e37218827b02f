"""The kernel records of Triton on Ascend. Bodies, and with them Triton, are imported on bind."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from xgr.backends.ascend import _compat
from xgr.backends.ascend.triton.selection import fits, power_of_two
from xgr.errors import Reason
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel

_ROOM = __name__.rpartition(".")[0]

# elements of the query heads that share a K/V head, which a tile holds
MOST_SHARING = 8192

INSTALL = "pip uninstall -y triton; pip install --no-deps triton-ascend==3.2.0 pybind11"


def as_second_implementation(problem: Problem) -> Iterator[Reason]:
    """Why a twin is not chosen unasked."""
    yield Reason(
        "twin",
        "a second implementation in Triton",
        "the device's own kernels or its library",
        f"ask for this one: XGR_KERNEL={problem.op}=ascend.triton",
    )


def uncompiled(problem: Problem) -> Iterator[Reason]:
    """Why kernels cannot be compiled here; nothing where there is no NPU, only a plan."""
    if not installed() and next(iter(_compat.missing()), None) is None:
        yield Reason("triton", "no Triton for Ascend", "triton-ascend", INSTALL)


@functools.cache
def installed() -> bool:
    """Whether the package `triton` here is Triton-Ascend: the one for GPUs has the same name."""
    found = find_spec("triton")
    folders = found.submodule_search_locations if found is not None else None
    return any(Path(folder, "backends", "ascend").is_dir() for folder in folders or ())


def unsorted(problem: Problem) -> Iterator[Reason]:
    """Reasons of beam_sort: beyond the unified buffer, or Triton is missing."""
    yield from fits(problem)
    yield from uncompiled(problem)


def unattended(problem: Problem) -> Iterator[Reason]:
    """Reasons of the stages: the heads of a K/V head are too many or too large, or no Triton."""
    a = problem.sizes
    shared = a["H"] // a["G"]
    if power_of_two(shared) * power_of_two(a["d"]) > MOST_SHARING:
        got = f"{shared} query heads of d={a['d']} a K/V head"
        yield Reason("limit", got, f"at most {MOST_SHARING} elements, each rounded up to 2^n")
    yield from uncompiled(problem)


_RULES = {
    "beam_sort": unsorted,
    "shared_attention": unattended,
    "unshared_attention": unattended,
}

TRITON_KERNELS: tuple[Kernel, ...] = tuple(
    Kernel(
        op,
        "ascend.triton",
        f"{_ROOM}.{op}:build",
        priority=2,
        limits={"d": (1, 512)} if op in {"shared_attention", "unshared_attention"} else {},
        rule=_RULES.get(op, uncompiled),
        auto=as_second_implementation,
    )
    for op in (
        "beam_sort",
        "kv_reorder",
        "mask_filter",
        "merge_attention",
        "shared_attention",
        "unshared_attention",
    )
)

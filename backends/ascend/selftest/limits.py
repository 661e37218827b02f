"""Documented limits of the library's calls, tried on the installed CANN on both sides."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from xgr.backends.ascend import _compat
from xgr.backends.ascend.selftest.calls import attention, merge_of, norm
from xgr.backends.ascend.selftest.meanings import MEANINGS
from xgr.backends.ascend.selftest.report import said
from xgr.runtime import Runtime

# what is tried, whether the document allows it, and the call
Probe = tuple[str, bool, Callable[[], Any]]

PROBES: Sequence[Probe] = (
    ("attention, head size 16", True, partial(attention, size=16)),
    ("attention, head size 64", True, partial(attention, size=64)),
    ("attention, head size 128", True, partial(attention, size=128)),
    ("attention, head size 512", True, partial(attention, size=512)),
    ("attention, head size 24", False, partial(attention, size=24)),
    ("attention, head size 528", False, partial(attention, size=528)),
    ("attention, 64 query heads on 1", True, partial(attention, heads=64, groups=1)),
    ("attention, 65 query heads on 1", False, partial(attention, heads=65, groups=1)),
    ("attention, 8 query heads on 3", False, partial(attention, heads=8, groups=3)),
    ("attention, 256 query heads on 8", True, partial(attention, heads=256, groups=8)),
    ("attention, float16", True, partial(attention, kind=torch.float16)),
    ("attention, float32", False, partial(attention, kind=torch.float32)),
    ("attention, 1 query", True, partial(attention, queries=1)),
    ("attention, 512 queries", True, partial(attention, queries=512)),
    ("attention, TND, head size 128", True, partial(attention, layout="TND")),
    ("attention, TND, head size 64", False, partial(attention, layout="TND", size=64)),
    ("attention, 4 queries, blocks of 128", True, partial(attention, block=128)),
    ("attention, 4 queries, blocks of 512", True, partial(attention, block=512)),
    ("attention, 4 queries, blocks of 64", False, partial(attention, block=64)),
    ("attention, 4 queries, blocks of 640", False, partial(attention, block=640)),
    ("attention, 1 query, blocks of 16", True, partial(attention, block=16, queries=1)),
    ("attention, 1 query, blocks of 128", True, partial(attention, block=128, queries=1)),
    ("attention, 1 query, blocks of 24", False, partial(attention, block=24, queries=1)),
    ("merge, 1 part", True, partial(merge_of, 1, 128)),
    ("merge, 16 parts", True, partial(merge_of, 16, 128)),
    ("merge, 17 parts", False, partial(merge_of, 17, 128)),
    ("merge, head size 8", True, partial(merge_of, 2, 8)),
    ("merge, head size 12", False, partial(merge_of, 2, 12)),
    ("merge, head size 512", True, partial(merge_of, 2, 512)),
    ("merge, head size 520", False, partial(merge_of, 2, 520)),
    ("norm, float32 weights", True, partial(norm, torch.float32)),
    ("norm, bfloat16 weights", True, partial(norm, torch.bfloat16)),
)


def run(rt: Runtime, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One entry a probe: whether CANN does what documents say, and whether calls mean that."""
    return [*(_tried(*probe) for probe in PROBES), *map(_held, MEANINGS)]


def _tried(name: str, allowed: bool, call: Callable[[], Any]) -> dict[str, Any]:
    """What the document forbids and CANN takes is worth knowing; the reverse is a fault."""
    note = ""
    try:
        call()
        _compat.npu().synchronize()
        accepted = True
    except RuntimeError as error:
        accepted, note = False, said(error)
    entry = {"name": name, "allowed": allowed, "accepted": accepted}
    if accepted == allowed:
        return entry | {"outcome": "ok", "note": note}
    if accepted:
        return entry | {"outcome": "wider", "note": "forbidden by the document, and accepted"}
    return entry | {"outcome": "fail", "note": f"allowed by the document: {note}"}


def _held(name: str) -> dict[str, Any]:
    try:
        note = MEANINGS[name]()
    except Exception as error:  # a call that breaks does not mean what it was taken to mean
        note = said(error)
    return {"name": name, "outcome": "fail" if note else "ok", "note": note}

"""What limiting a stream's cores does: times alone on parts of the device, and side by side."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from xgr.backends.ascend import _compat
from xgr.backends.ascend.selftest.report import said
from xgr.backends.ascend.soc import CoreGroup, SocSpec
from xgr.conformance.laid import Laid, with_outputs
from xgr.errors import Unsupported
from xgr.ops import spec
from xgr.ops.spec import Case
from xgr.runtime import Runtime

# eight users of 128 beams each, on one layer of a small decoder
_SIZES = {"B": 8, "R": 1024, "S": 2, "H": 8, "G": 2, "d": 128}
SHARES = (1.0, 0.75, 0.5, 0.25)
LAUNCHES = 10


def run(rt: Runtime, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Times of each stage by cores, then of both stages on two groups at once."""
    backend: Any = rt.backend
    stages: dict[str, Callable[[], None]] = {}
    entries: list[dict[str, Any]] = []
    for op in ("shared_attention", "unshared_attention"):
        try:
            stages[op] = launcher(rt, op, options.tokens)
        except Unsupported as refusal:
            note = said(refusal)
            entries.append({"name": op, "outcome": "missing", "note": note})
            continue
        by_cores = {}
        for share in SHARES:
            group = part(backend.soc, share)
            stream, told = limited(group)
            by_cores[str(group.cube)] = {"ms": _milliseconds(stages[op], stream), "limit": told}
        entries.append(
            {"name": op, "outcome": "measured", "by_cube_cores": by_cores, "note": effect(by_cores)}
        )
    if len(stages) == 2:
        entries.append(_side_by_side(rt, backend.soc, list(stages.values())))
    return entries


def part(soc: SocSpec, share: float) -> CoreGroup:
    """A share of the cores, with the vector cores beside the cube cores."""
    cube = max(1, round(soc.cube_cores * share))
    return CoreGroup(cube, cube * soc.vector_cores // soc.cube_cores)


def limited(group: CoreGroup) -> tuple[Any, Any]:
    """A stream with the group's cores, and what the device says of its limit."""
    npu = _compat.npu()
    stream = npu.Stream()
    npu.set_stream_limit(stream, group.cube, group.vector)
    return stream, npu.get_stream_limit(stream)


def effect(by_cores: dict[str, dict[str, Any]]) -> str:
    """Whether fewer cores took longer."""
    most, least = max(by_cores, key=int), min(by_cores, key=int)
    ratio = by_cores[least]["ms"] / by_cores[most]["ms"] if by_cores[most]["ms"] else 0.0
    return f"{least} instead of {most} cube cores: {ratio:.2f} times the time"


def launcher(rt: Runtime, op: str, tokens: int) -> Callable[[], None]:
    """A launch of an op in a size that fills the device, with prompts of so many tokens."""
    declared = spec(op)
    axes = {axis for arg in declared.args for axis in arg.axis_names} - set(declared.derived)
    whole = {**_SIZES, "T": _SIZES["B"] * tokens}
    sizes = {axis: size for axis, size in whole.items() if axis in axes}
    flags: dict[str, str | int | bool] = {"live": "all", "prompt": "full", "step": 1}
    case = Case(op, sizes, "bfloat16", flags)
    host = with_outputs(declared, declared.build(case), sizes, case.dtype)
    bound = rt.bind(op, declared.problem(host, case.dtype))
    if "prompt_start" in host:
        widths = (host["row_start"][1:] - host["row_start"][:-1]).tolist()
        bound.plan(host["prompt_start"].tolist(), host["prompt_len"].tolist(), widths)
    laid = Laid(rt, declared, host, case.dtype, strided=False)
    laid.reset()
    return lambda: bound(**laid.arguments)


def _milliseconds(launch: Callable[[], None], stream: Any) -> float:
    """Device time of one launch on a stream, the median of some."""
    npu = _compat.npu()
    found: list[float] = []
    npu.synchronize()
    with npu.stream(stream):
        launch()
        for _ in range(LAUNCHES):
            begin, end = (npu.Event(enable_timing=True) for _ in range(2))
            begin.record(stream)
            launch()
            end.record(stream)
            end.synchronize()
            found.append(begin.elapsed_time(end))
    return statistics.median(found)


def _side_by_side(
    rt: Runtime, soc: SocSpec, launches: Sequence[Callable[[], None]]
) -> dict[str, Any]:
    """Both stages one after the other on all cores, and at once on three quarters and a quarter."""
    npu = _compat.npu()
    whole = npu.Stream()

    def in_turn() -> None:
        for launch in launches:
            launch()

    serial = _milliseconds(in_turn, whole)
    pairs = [
        (limited(part(soc, share))[0], launch)
        for share, launch in zip((0.75, 0.25), launches, strict=True)
    ]

    def at_once() -> None:
        for stream, launch in pairs:
            stream.wait_stream(whole)
            with npu.stream(stream):
                launch()
        for stream, _ in pairs:
            whole.wait_stream(stream)

    divided = _milliseconds(at_once, whole)
    return {
        "name": "both stages",
        "outcome": "measured",
        "ms": {"in turn on all cores": serial, "at once, 3/4 and 1/4 of the cores": divided},
    }

"""How fast a kernel is, in the units of its declaration."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xgr.conformance.prepared import Prepared, has_values
from xgr.errors import Unsupported
from xgr.ops import specs
from xgr.ops.spec import Case
from xgr.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Measured:
    """A timed case.

    Attributes:
        milliseconds: median of the launches.
        gflops: 1e9 operations a second, from the declaration's count.
        gbytes: 1e9 bytes a second, from the declaration's least bytes to move.
        launches: how many were timed; replays of a graph, where it is the device's time.
    """

    case: Case
    kernel: str
    milliseconds: float
    gflops: float
    gbytes: float
    launches: int


# a batch of 8 users of 200 tokens each, 50 beams a user, on a small decoder
_SMALL = {
    "B": 8, "R": 400, "N": 1600, "T": 1600, "S": 2, "L": 8, "H": 8, "G": 4, "d": 64, "h": 256,
    "I": 768, "O": 1024, "K": 1024, "V": 4000, "M": 256, "P": 4096, "F": 32,
    "NP": 912, "BT": 16, "MB": 14, "OB": 2,
}  # fmt: skip
# of 4 users of 1024 tokens each, 256 beams a user, on four layers of Qwen3 0.6B
_SERVED = {
    "B": 4, "R": 1024, "N": 4096, "T": 4096, "S": 2, "L": 4, "H": 16, "G": 8, "d": 128, "h": 1024,
    "I": 3072, "O": 4096, "K": 8192, "V": 32768, "M": 1024, "P": 4096, "F": 64,
    "NP": 2312, "BT": 16, "MB": 66, "OB": 2,
}  # fmt: skip
# axes of an op that are another one of the decoder
_MEANT: Mapping[str, Mapping[str, str]] = {
    "block_copy": {"N": "R"}, "linear": {"I": "h"}, "linear_add": {"O": "h"},
}  # fmt: skip


def perf_cases(op: str) -> Sequence[Case]:
    """The cases of an op flagged perf; where there are none, its first one in larger sizes.

    Float32 on a small decoder and, where there are weights or K/V, bfloat16 on one that is served.
    """
    cases = list(specs()[op].cases())
    flagged = [case for case in cases if case.flags.get("perf")]
    if flagged:
        return flagged
    typed = any(case.dtype == "bfloat16" for case in cases)
    larger = [_larger(cases[0], _SMALL)]
    return [*larger, replace(_larger(cases[0], _SERVED), dtype="bfloat16")] if typed else larger


def _larger(case: Case, sizes: Mapping[str, int]) -> Case:
    flags = {name: flag for name, flag in case.flags.items() if name != "spare"}
    if case.sizes.keys() & {"T", "MB"}:
        flags["prompt"] = "full"
    if "B" in case.sizes:
        flags |= {"live": "all", "widths": "even"}
    meant = _MEANT.get(case.op, {})
    larger = {axis: sizes[meant.get(axis, axis)] for axis in case.sizes}
    return replace(case, sizes=larger, flags=flags)


def measure(rt: Runtime, kernel: str | None, case: Case, budget: float = 0.5) -> Measured:
    """Time a case for about `budget` seconds.

    Raises:
        Unsupported: the kernel cannot run it, or computes nothing.
    """
    declared = specs()[case.op]
    if not has_values(rt):
        raise Unsupported(f"{rt.device} has shapes only: there is nothing to time")
    host = declared.build(case)
    prepared = Prepared(rt, kernel, declared, case, host)
    prepared.plan(host)
    timings = prepared.timings(budget)
    seconds = statistics.median(timings)
    return Measured(
        case,
        kernel or "",
        seconds * 1e3,
        declared.flops(prepared.problem) / seconds / 1e9,
        declared.bytes(prepared.problem) / seconds / 1e9,
        len(timings),
    )

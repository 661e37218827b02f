"""How fast a kernel is, in the units of its declaration."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xgr.conformance.prepared import Prepared
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
        launches: how many were timed.
    """

    case: Case
    kernel: str
    milliseconds: float
    gflops: float
    gbytes: float
    launches: int


# a batch of 8 users of 200 tokens each, 50 beams a user, on a small decoder
_DECODE = {"B": 8, "R": 400, "H": 8, "G": 4, "d": 64, "T": 1600, "S": 2}
_PAGED = {**_DECODE, "NP": 912, "BT": 16, "MB": 14, "OB": 2}
_TOKENS = {"N": 1600, "h": 256, "I": 768}
LARGER: Mapping[str, Mapping[str, int]] = {
    "beam_ancestors": _DECODE,
    "block_copy": {**_PAGED, "L": 8, "N": 400},
    "block_fork": _PAGED,
    "embed": {**_TOKENS, "V": 4000, "M": 256},
    "gelu_gated": _TOKENS,
    "kv_append": _DECODE,
    "kv_reorder": {**_DECODE, "L": 8},
    "linear": {"N": 1600, "I": 256, "O": 1024},
    "linear_add": {"N": 1600, "I": 256, "O": 1024},
    "linear_logits": {"R": 400, "K": 1024, "h": 256},
    "linear_lse": {"R": 400, "V": 4000, "h": 256},
    "merge_attention": _DECODE,
    "normed_swiglu": _TOKENS,
    "paged_attention": _PAGED,
    "prefill_attention": {**_DECODE, "N": 1600},
    "rms_norm": _TOKENS,
    "rope_kv": _DECODE,
    "rope_paged": _PAGED,
    "rope_prefill": {**_DECODE, "N": 1600},
    "rope_table": {"P": 4096, "F": 32},
    "shared_attention": _DECODE,
    "staged_attention": _DECODE,
    "swiglu": _TOKENS,
    "unshared_attention": _DECODE,
}


def perf_cases(op: str) -> Sequence[Case]:
    """The cases of an op flagged perf; where there are none, its first case in a larger size."""
    cases = list(specs()[op].cases())
    flagged = [case for case in cases if case.flags.get("perf")]
    if flagged or op not in LARGER:
        return flagged or cases[-1:]
    first = cases[0]
    sizes = {axis: LARGER[op].get(axis, size) for axis, size in first.sizes.items()}
    flags = {name: flag for name, flag in first.flags.items() if name != "spare"}
    if "T" in sizes:
        flags["prompt"] = "full"
    if "B" in sizes:
        flags["live"] = "all"
    return [replace(first, sizes=sizes, flags=flags)]


def measure(rt: Runtime, kernel: str | None, case: Case, budget: float = 0.5) -> Measured:
    """Time a case for about `budget` seconds.

    Raises:
        Unsupported: the kernel cannot run it.
    """
    declared = specs()[case.op]
    prepared = Prepared(rt, kernel, declared, case, declared.build(case))
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

"""Captured graphs: launched again they follow new values, lengths and live rows."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xgr.backends.ascend.selftest.conform import missing
from xgr.backends.ascend.selftest.report import said
from xgr.conformance.entries import cases_of, kernel_names
from xgr.conformance.laid import Laid, with_outputs
from xgr.conformance.runner import expected
from xgr.errors import Unsupported
from xgr.ops import spec
from xgr.ops.spec import Case, Flag, OpSpec, Values
from xgr.runtime import Runtime

# ops of a batch, and what the first of their conformance cases must have
OPS = {
    "kv_reorder": "bfloat16.*step=2",
    "rope_kv": "bfloat16",
    "linear_lse": "",
    "rope_paged": "bfloat16.*step=1",
    "paged_attention": "BT=16.*bfloat16",
    "mask_filter": "level=2,filters",
    "beam_sort": "order=path,data=ties",
    "beam_step": "level=2.*filters=mixed",
}
# attention over an arena as the engine lays it out: prompts begin where blocks do, and fill them
_SIZES = {"B": 3, "R": 21, "N": 768, "T": 768, "S": 3, "H": 4, "G": 2, "d": 64}
_FLAGS: Mapping[str, Mapping[str, Flag]] = {
    "prefill_attention": {"causal": True},
    "shared_attention": {},
    "unshared_attention": {"step": 2},
    "staged_attention": {"step": 2},
}
REPLAYS = 20


@dataclass(frozen=True, slots=True)
class Replayed:
    """A case whose launch is a graph."""

    rt: Runtime
    declared: OpSpec
    case: Case
    laid: Laid
    bound: Any
    graph: Any

    def outputs(self, host: Values, replay: Callable[[], None]) -> Values:
        """What a launch leaves for host values."""
        self.laid.reset()
        for arg in self.declared.args:
            if (
                arg.role != "out"
                and not arg.struct
                and not arg.many
                and host.get(arg.name) is not None
            ):
                self.rt.write(self.laid.arguments[arg.name], host[arg.name])
        if "prompt_len" in host:
            widths = np.diff(host["row_start" if "row_start" in host else "q_start"]).tolist()
            start = host.get("prompt_start", np.zeros_like(host["prompt_len"]))
            self.bound.plan(start.tolist(), host["prompt_len"].tolist(), widths)
        replay()
        return self.laid.outputs()


def run(rt: Runtime, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One entry an op: whether replays agree with the definition, and what one costs the host."""
    return [
        _probe(rt, op, kernel, cases)
        for op, cases in _cases().items()
        for kernel in kernel_names("npu", op)
        if not options.kernels or kernel in options.kernels
    ]


def _cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for op, flags in _FLAGS.items():
        declared = spec(op)
        axes = {axis for arg in declared.args for axis in arg.axis_names if arg.name != "bias"}
        sizes = {axis: size for axis, size in _SIZES.items() if axis in axes}
        found[op] = [Case(op, sizes, "bfloat16", {"live": "all", "prompt": "full", **flags})]
    for op, pattern in OPS.items():
        found[op] = [case for case in cases_of(op) if re.search(pattern, case.id)]
    return found


def changed(host: Values) -> Values:
    """The same batch with other values: shorter prompts, fewer live rows, smaller numbers."""
    found = dict(host)
    # the last queries of a prompt cannot be more than its tokens
    if "prompt_len" in host and "q_start" not in host:
        found["prompt_len"] = host["prompt_len"] - host["prompt_len"] // 3
    if "live" in host:
        found["live"] = host["live"] - (host["live"] > 1).astype(np.int32)
    for name in ("q", "qkv", "logits", "scores", "hidden"):
        if name in host:
            found[name] = (host[name].astype(np.float32) * 0.5).astype(host[name].dtype)
    return found


def _probe(rt: Runtime, op: str, kernel: str, cases: list[Case]) -> dict[str, Any]:
    """The first case that the kernel takes."""
    declared = spec(op)
    entry: dict[str, Any] = {"name": f"{op} {kernel}", "outcome": "missing", "note": "no case"}
    if why := missing(kernel):
        return entry | {"note": why}
    for case in cases:
        try:
            one = _captured(rt, declared, case, kernel)
            return entry | _replays(one, declared.build(case))
        except Unsupported as refusal:
            entry["note"] = f"{case.id}: {said(refusal)}"
        except Exception as error:
            return entry | {"outcome": "fail", "note": f"{case.id}: {said(error)}"}
    return entry


def _captured(rt: Runtime, declared: OpSpec, case: Case, kernel: str) -> Replayed:
    host = with_outputs(declared, declared.build(case), case.sizes, case.dtype)
    bound = rt.bind(case.op, declared.problem(host, case.dtype), kernel)
    laid = Laid(rt, declared, host, case.dtype, strided=False)
    graph = rt.capture(lambda: bound(**laid.arguments))
    return Replayed(rt, declared, case, laid, bound, graph)


def _replays(one: Replayed, host: Values) -> dict[str, Any]:
    """Replay with the values of a case, others, and those of the case again."""
    declared, case, rt = one.declared, one.case, one.rt
    notes = []
    # the first replay launches one by one, the second is recorded; then new lengths come
    turns = [("first", host), ("recorded", host), ("changed", changed(host)), ("back", host)]
    for turn, values in turns:
        got = one.outputs(values, one.graph.replay)
        wanted = expected(declared, case, values)
        notes += [f"{turn}: {text}" for text in declared.compare(case, values, wanted, got)][:3]
    recorded = getattr(one.graph, "_graph", None) is not None
    if not recorded:
        notes.append(f"nothing was recorded: {getattr(one.graph, 'refused', ())}")
    eager, replayed = (
        _cost(rt, lambda: one.bound(**one.laid.arguments)),
        _cost(rt, one.graph.replay),
    )
    return {
        "case": case.id,
        "outcome": "fail" if notes else "ok",
        "note": "; ".join(notes),
        "host_us": {"launched": eager, "replayed": replayed},
    }


def _cost(rt: Runtime, launch: Callable[[], None]) -> float:
    """Microseconds of host time of a launch, the device not waited for."""
    rt.synchronize()
    begin = time.perf_counter()
    for _ in range(REPLAYS):
        launch()
    spent = time.perf_counter() - begin
    rt.synchronize()
    return round(spent / REPLAYS * 1e6, 1)

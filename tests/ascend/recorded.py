"""Kernels of the Ascend backend on meta tensors, with every library call that they make recorded.

The real Meta kernels of torch_npu compute the shapes. A call that writes `out` has no Meta kernel:
its functional twin runs in its place, and what that returns is compared with what was given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from xgr.backends import tensors as host
from xgr.backends.ascend import _compat, soc
from xgr.backends.ascend.backend import AscendBackend
from xgr.conformance.entries import cases_of, gaps_of
from xgr.conformance.laid import with_outputs
from xgr.ops import spec
from xgr.ops.spec import Case, Problem, Values
from xgr.runtime import Runtime

FIA = "npu::npu_fused_infer_attention_score_v2"
WORKSPACE = "npu::_npu_fused_infer_attention_score_v2_get_max_workspace"
# calls that have no Meta kernel: what runs in their place
TWINS = {f"{FIA}.out": FIA, WORKSPACE: FIA}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the library: its name, what was passed and what its Meta kernel returned."""

    name: str
    arguments: dict[str, Any]
    returned: tuple[Any, ...]


class MetaTensors(AscendBackend):
    """Shapes and dtypes on torch's meta device."""

    def __init__(self) -> None:
        self._planned = False
        self._torch, self._host = torch, host
        self.soc = soc.spec("Ascend910B1")
        self._device = torch.device("meta")


_compat.npu()  # brings the operators
RT = Runtime("npu", MetaTensors())


@contextlib.contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Call]]:
    """Record library calls instead of making those that have no Meta kernel."""
    calls: list[Call] = []
    real = _compat.call

    def call(name: str, /, **arguments: Any) -> Any:
        twin = TWINS.get(name)
        if twin is None:
            found = real(name, **arguments)
        else:
            kept = {n: a for n, a in arguments.items() if n not in ("out", "workspace")}
            found = real(twin, **kept)
        if name == WORKSPACE:
            found = torch.empty(0, dtype=torch.uint8, device="meta")
        calls.append(Call(name, arguments, found if isinstance(found, tuple) else (found,)))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(_compat, "call", call)
        yield calls


def supported(op: str, kernel: str) -> Iterator[tuple[Case, Values]]:
    """The cases of a kernel that no gap lists, and where it reads prompts those of an engine."""
    gaps = [gap for gap in gaps_of("npu") if gap.op == op]
    for case in cases_of(op):
        if not any(gap.covers(case, kernel) for gap in gaps):
            yield case, spec(op).build(case)
    if "attention" in op and "prompt_start" in {arg.name for arg in spec(op).args}:
        yield from in_blocks(op)


def in_blocks(op: str) -> Iterator[tuple[Case, Values]]:
    """Prompts that begin at blocks of the arena: equal and ragged widths, packed and not, empty."""
    for size, uneven, empty in product((64, 128), (False, True), (False, True)):
        sizes = {"N": 400} if op == "prefill_attention" else {"R": 48}
        sizes |= {"H": 8, "G": 4, "d": size, "T": 1024, "B": 3}
        sizes |= {"S": 3} if op == "staged_attention" else {}
        flags = {"causal": True} if op == "prefill_attention" else {"live": "all"}
        case = Case(op, sizes, "bfloat16", {**flags, "step": 2}, seed=1)
        values = spec(op).build(case)
        given = {"prompt_start": [512, 0, 384], "prompt_len": [300, 0 if empty else 129, 1]}
        if op == "prefill_attention":
            given["q_start"] = [0, 1, 2 - empty, 3 - empty] if uneven else [0, 250, 379, 380]
            given["q_start"] = [0, 250, 250, 251] if empty and not uneven else given["q_start"]
        else:
            given["row_start"] = [0, 20, 40, 45] if uneven else [0, 16, 32, 48]
            given["live"] = [20, 7, 5] if uneven else [16, 1, 0]
            if uneven and empty:  # and a request without rows
                given |= {"row_start": [0, 20, 20, 45], "live": [20, 0, 25]}
        values |= {name: np.array(ints, np.int32) for name, ints in given.items()}
        rng = np.random.default_rng(2)
        for name in ("q", "k", "v", "k_unshared", "v_unshared"):
            if name in values:
                drawn = rng.standard_normal(values[name].shape)
                values[name] = drawn.astype(values[name].dtype)
        yield case, values


def launch(kernel: str, case: Case, host: Values, within: Any = None) -> Problem:
    """Plan and launch a case on meta tensors; host ints are the case's, tensors have no values.

    With a context `within` the plan of before serves, and the launch alone is within it.
    """
    declared = spec(case.op)
    values = with_outputs(declared, host, case.sizes, case.dtype)
    problem = declared.problem(values, case.dtype)
    bound = RT.bind(case.op, problem, kernel)
    if within is None and "attention" in case.op and "prompt_len" in values:
        widths = np.diff(values["row_start" if "row_start" in values else "q_start"])
        lengths = values["prompt_len"].tolist()
        starts = values["prompt_start"].tolist() if "prompt_start" in values else [0] * len(lengths)
        bound.plan(starts, lengths, widths.tolist())
    arguments = {s.name: values[s.name] for s in declared.scalars}
    for arg in declared.args:
        value = values.get(arg.name)
        if arg.many:
            arguments[arg.name] = [RT.upload(one) for one in value or ()]
        else:
            arguments[arg.name] = None if value is None else RT.upload(value)
    with within or contextlib.nullcontext():
        bound(**arguments)
    return problem

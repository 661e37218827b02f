"""Launches of problems as an engine poses them, on tensors without memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.ascend.triton.compiled.launches import Launch, handing_to
from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.ops import spec
from xgr.ops.array import Filters, Trie, TrieLevel
from xgr.ops.dtype import DType
from xgr.ops.spec import Arg, OpSpec, Problem


class Shapes:
    """A bind's context whose workspaces have no memory."""

    def __init__(self, config: Mapping[str, int]) -> None:
        self.config = config

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        return tensor(tuple(shape), dtype.name)

    def bind(self, op: str, problem: Problem) -> Any:
        raise NotImplementedError


def tensor(shape: tuple[int, ...], dtype: str) -> Any:
    """A tensor without memory."""
    import torch

    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


def launches_of(problem: Problem, absent: Sequence[str] = (), **scalars: Any) -> Sequence[Launch]:
    """What the kernel of a problem's op launches, with optional arguments but the absent ones."""
    declared = spec(problem.op)
    record = next(k for k in TRITON_KERNELS if k.op == problem.op)
    assert not list(record.unsupported(problem)), f"{problem}: {record.unsupported(problem)}"
    arguments = {
        arg.name: None if arg.name in absent else _argument(declared, arg, problem)
        for arg in declared.args
    }
    got: list[Launch] = []
    with handing_to(got.append):
        record.build(problem, Shapes({}))(**arguments, **scalars)
    return got


def _argument(declared: OpSpec, arg: Arg, problem: Problem) -> Any:
    sizes = problem.sizes
    if arg.struct == "trie":
        level = TrieLevel(tensor((1 << 20,), "int32"), tensor((1 << 20,), "int32"))
        return Trie((level,) * 3, (sizes["K"],) * 3, "shapes", tensor((15,), "int64"))
    if arg.struct == "filters":
        of, depth = sizes["B"], 3
        words = (tensor((4, 1 << 15), "uint32"),) * depth
        lists = tensor((depth, of + 1), "int32"), tensor((depth, 1 << 16), "int32")
        return Filters(tensor((of,), "int32"), *lists, tensor((of,), "int32"), words)
    one = tensor(declared.shape(arg, sizes), problem.dtype if arg.dtype == "model" else arg.dtype)
    return [one, one] if arg.many else one

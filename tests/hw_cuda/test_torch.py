# torch.cuda.Stream has no types:
# mypy: disable-error-code="no-untyped-call"
"""The operators of torch on CUDA tensors: torch's own checks, streams and graphs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import xgr.torch
from tests.unit.test_torch import OPS, calls, decode, every_fifth, four_beams, small
from xgr.errors import InputError

CAPTURED = ("staged_attention", "beam_step", "kv_reorder")


def moved(value: Any) -> Any:
    """The same on the GPU."""
    if isinstance(value, dict):
        return {name: moved(one) for name, one in value.items()}
    if isinstance(value, list):
        return [moved(one) for one in value]
    return value.cuda() if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("op", OPS)
def test_torch_finds_nothing_wrong(op: str) -> None:
    for operator, arguments in calls(small(op), finite=True):
        torch.library.opcheck(operator, (), moved(arguments))


@pytest.mark.parametrize("op", CAPTURED)
def test_a_captured_call_replays(op: str) -> None:
    (operator, arguments), *_ = calls(small(op), finite=True)
    eager, captured = moved(arguments), moved(arguments)
    before = {k: v.clone() for k, v in captured.items() if isinstance(v, torch.Tensor)}
    operator(**eager)  # compiled before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        operator(**captured)
    for _ in range(2):
        for name, value in before.items():
            captured[name].copy_(value)
        graph.replay()
        for name in before:
            torch.testing.assert_close(captured[name], eager[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.filterwarnings("ignore")  # inductor's own
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_program_compiles_whole(backend: str) -> None:
    catalogue, rows = every_fifth(), four_beams()
    constraint = xgr.torch.constraint(catalogue, [catalogue.filter(exclude=[0])])
    want = decode(rows, constraint, 8)
    compiled = torch.compile(decode, fullgraph=True, backend=backend)
    got = compiled(moved(rows), moved(constraint), 8)
    torch.testing.assert_close({name: value.cpu() for name, value in got.items()}, want)


def test_streams_do_not_disturb_each_other() -> None:
    (operator, arguments), *_ = calls(small("staged_attention"), finite=True)
    copies = [moved(arguments) for _ in range(3)]
    operator(**copies[0])
    torch.cuda.synchronize()
    for stream, copy in zip((torch.cuda.Stream(), torch.cuda.Stream()), copies[1:], strict=True):
        with torch.cuda.stream(stream):
            for _ in range(50):
                operator(**copy)
    torch.cuda.synchronize()
    for copy in copies[1:]:
        torch.testing.assert_close(copy["out"], copies[0]["out"], rtol=0, atol=0)


def test_a_tensor_left_on_the_host_is_named() -> None:
    with pytest.raises(InputError, match="weight is on cpu, this process runs xgr on cuda:"):
        torch.ops.xgr.linear(torch.zeros(2, 4, device="cuda"), torch.zeros(3, 4))


@pytest.mark.filterwarnings("error")
def test_parameters_of_modules_are_weights() -> None:
    """Some kernels call torch's own operators, which refuse or record what needs a gradient."""
    x = torch.randn(5, 64, device="cuda", dtype=torch.bfloat16)
    module = torch.nn.Linear(64, 64, bias=False, device="cuda", dtype=torch.bfloat16)
    residual = torch.zeros(5, 64, device="cuda", dtype=torch.bfloat16)
    torch.ops.xgr.linear_add(x, module.weight, residual)
    torch.testing.assert_close(residual, module(x).detach())
    assert residual.grad_fn is None
    assert not residual.requires_grad
    for operator in (torch.ops.xgr.linear, torch.ops.xgr.linear_logits):
        torch.testing.assert_close(operator(x, module.weight).to(x.dtype), module(x).detach())

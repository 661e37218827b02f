"""The operators of torch on kernels of CUDA, which the interpreter runs on the CPU's tensors."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from tests.cuda.interpreter import interpreted, need_interpreter
from xgr.ops import spec
from xgr.torch import launch

need_interpreter()


@pytest.fixture(autouse=True)
def on_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    rt, cpu = interpreted(), torch.device("cpu")
    monkeypatch.setattr(launch, "_LANES", SimpleNamespace(get=lambda device, stream: rt))
    monkeypatch.setattr(launch, "_cuda_device", lambda: cpu)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0))


@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("linear", ("x", "weight", "out")),
        ("linear_add", ("x", "weight", "residual")),
        ("linear_logits", ("hidden", "head", "logits")),
    ],
)
def test_parameters_of_modules_are_weights(op: str, names: tuple[str, ...]) -> None:
    """torch's own products refuse or record what needs a gradient."""
    x, weight = torch.randn(5, 16), torch.nn.Parameter(torch.randn(8, 16))
    written = torch.zeros(5, 8)
    launch.on_cuda(spec(op), dict(zip(names, (x, weight, written), strict=True)))
    torch.testing.assert_close(written, (x @ weight.T).detach())
    assert not written.requires_grad

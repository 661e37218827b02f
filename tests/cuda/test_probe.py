"""What is said of a machine without torch, Triton or a recent GPU; runs on any machine."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import pytest
import torch

from xgr.backends.cuda.backend import CudaBackend


def codes() -> dict[str, str]:
    """Code -> hint of every reason against this machine."""
    probe = CudaBackend.probe()
    assert probe.available == (not probe.reasons)
    return {reason.code: reason.hint for reason in probe.reasons}


def test_torch_that_is_missing_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert codes() == {"torch": 'pip install "xgr[cuda]"'}


def test_torch_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "download.pytorch.org" in codes()["torch"]


@pytest.mark.parametrize(
    ("capability", "accepted"), [((7, 5), False), ((8, 0), True), ((9, 0), True), ((10, 0), True)]
)
def test_gpus_before_ampere_are_refused(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], accepted: bool
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    fake: Any = type("GPU", (), {"name": "GPU", "total_memory": 1, "multi_processor_count": 1})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: fake)
    assert ("capability" not in codes()) == accepted


def test_no_gpu_and_no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert codes() == {
        "device": "`nvidia-smi` must list one",
        "triton": 'pip install "xgr[cuda]"',
    }


def test_records_are_read_without_torch() -> None:
    code = (
        "import sys; from xgr.backends.cuda.backend import CudaBackend\n"
        "from xgr.backends.cuda.kernels import KERNELS\n"
        "print([m for m in ('torch', 'triton') if m in sys.modules], len(KERNELS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] ")
    assert int(done.stdout.split()[-1]) >= 12

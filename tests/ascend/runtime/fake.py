"""Tensors on `npu:0` under the fake CANN, for tests of the fake itself and of what runs on it."""

from __future__ import annotations

from typing import Any

import torch

from tests.ascend.device import need_torch_npu

need_torch_npu()

from xgr.backends.ascend import _compat  # noqa: E402  skipped before, where there is no torch_npu

NPU: Any = _compat.npu()
OPS: Any = torch.ops.npu


def on_npu(*tensors: torch.Tensor) -> Any:
    """Copies on the device; one for one."""
    copies = [tensor.to("npu") for tensor in tensors]
    return copies[0] if len(copies) == 1 else copies

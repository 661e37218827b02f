"""Where torch_npu runs: under the fake CANN, in the venv that .ci/ascend/torch_npu makes."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

# a check that CI must not leave out fails where its tools are missing
REQUIRED = os.environ.get("XGR_ASCEND_CHECKS") == "1"

WHY_NOT = ""
if find_spec("torch_npu") is None:
    WHY_NOT = "needs torch_npu: .ci/ascend/torch_npu installs it and runs this"
elif os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
    WHY_NOT = "needs a CANN: python -m tests.ascend.fake_cann -- pytest tests/ascend"


def need_torch_npu() -> None:
    """Skip the module of the caller where torch_npu cannot be imported; fail it in CI."""
    if WHY_NOT and REQUIRED:
        pytest.fail(WHY_NOT, pytrace=False)
    if WHY_NOT:
        pytest.skip(WHY_NOT, allow_module_level=True)

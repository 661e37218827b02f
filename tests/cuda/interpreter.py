"""The CUDA backend on the CPU, where Triton is installed and told to interpret its kernels."""

from __future__ import annotations

import functools
import os
from importlib.util import find_spec

import pytest

from xgr.runtime import Runtime

WHY_NOT = ""
if find_spec("triton") is None:
    WHY_NOT = "needs Triton: pip install triton==3.6.0 'numpy<2.4' beside torch"
elif os.environ.get("TRITON_INTERPRET") != "1":
    WHY_NOT = "interprets kernels: run it alone, with TRITON_INTERPRET=1"

# what the interpreter's own NumPy code warns of
QUIET = [
    pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter"),
]


def need_interpreter() -> None:
    """Skip the module of the caller where kernels cannot be interpreted."""
    if WHY_NOT:
        pytest.skip(WHY_NOT, allow_module_level=True)


@functools.cache
def interpreted() -> Runtime:
    """A runtime whose tensors lie on the CPU."""
    import torch

    from xgr.backends.cuda.backend import CudaBackend

    torch.set_num_threads(1)  # programs run one after the other
    return Runtime("cuda", CudaBackend(interpret=True))

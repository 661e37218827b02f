"""The ops as operators of torch: `import xgr.torch` makes them `torch.ops.xgr.*`.

    out, lse = torch.ops.xgr.staged_attention(q, k, v, ..., step=2, scale=0.125)
    torch.ops.xgr.staged_attention.out(q, k, v, ..., step=2, scale=0.125, out=out, lse=lse)

The first form returns new tensors, the overload `out` writes the given ones; what an op changes in
place is changed in both. CPU tensors are computed by the `cpu` runtime, through views of their
memory, and CUDA tensors by the `cuda` runtime on the current stream. See docs/torch.md.

Raises:
    ImportError: torch is not installed.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "xgr.torch needs torch: pip install torch, or pip install 'xgr[cuda]'"
    ) from error

from xgr.torch.constraint import constraint
from xgr.torch.register import register

__all__ = ["constraint"]

register()

# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""The norm of a product's input, put behind the product.

With the gain in the weights, (x / rms(x)) . w = (x . w) / rms(x): who reads a row of the product
reads the row x again, from the cache, and no launch stands between two products.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from xgr.ops import spec
from xgr.ops.spec import Problem

# bytes of an op beyond which a row that is read again comes from memory, not from the L2 cache
_CACHED = 64 << 20


def reads_again(problem: Problem) -> bool:
    """Whether to read a row of what is normed once is worth programs of more work, but fewer."""
    return spec(problem.op).bytes(problem) > _CACHED


def row_stride(hidden: torch.Tensor | None) -> int:
    """Of rows that the norm is of, where there is one."""
    return 0 if hidden is None else hidden.stride(0)


@triton.jit
def load_row(hidden, place, h: tl.constexpr, BLOCK: tl.constexpr):
    """The row of h elements at a place, to be on its way with what else is loaded; h = 0: None."""
    row = None
    if h > 0:
        at = tl.arange(0, BLOCK)
        row = tl.load(hidden + place + at, mask=at < h, other=0)
    return row


@triton.jit
def inverse_rms(row, eps, h: tl.constexpr):
    """1 / sqrt(mean of squares + eps)."""
    x = row.to(tl.float32)
    return tl.rsqrt(tl.sum(x * x, axis=0) / h + eps)

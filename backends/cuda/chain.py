# Triton's language has no types:
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""Chained launches, sm_90 and newer: one begins before the one before it has ended.

CUDA calls it programmatic dependent launch. A chain is safe because every program of every chained
kernel waits, also those that then have nothing to do: the wait is for the launch before alone, and
that one ended only after it had waited in turn. A launch that is not chained waits by itself.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.device import architecture, interpreting


def chain() -> dict[str, bool]:
    """What a kernel that begins with `follow` is launched with, besides its own arguments."""
    chained = architecture() >= 90 and not interpreting()
    return {"CHAINED": chained, "launch_pdl": chained}


@triton.jit
def follow(CHAINED: tl.constexpr):
    """Let the next launch begin, and wait for the end of the one before.

    No memory is read or written ahead of it, constants included: any of it may be a result of the
    launch before, and what is written may still be read by that. Lines may be fetched: see `warm`.
    """
    if CHAINED:
        gdc_launch_dependents()
        gdc_wait()


@triton.jit
def warm(vector, SIZE: tl.constexpr, CHAINED: tl.constexpr):
    """Bring SIZE elements to the L2 cache, where a launch that still writes them finds them too."""
    if CHAINED:
        LINE: tl.constexpr = 1024 // vector.dtype.element_ty.primitive_bitwidth
        at = tl.arange(0, triton.next_power_of_2(triton.cdiv(SIZE, LINE))) * LINE
        tl.inline_asm_elementwise(
            "prefetch.global.L2 [$1]; mov.b32 $0, 0;", "=r,l", [vector + tl.minimum(at, SIZE - 1)],
            dtype=tl.int32, is_pure=False, pack=1,
        )  # fmt: skip

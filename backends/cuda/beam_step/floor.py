"""Second launch of a beam step: a floor for each request that no survivor is below.

The best W candidates lie in the best W groups, where maxima are ranked as candidates are: a group
that is left out has W others before it, each with a candidate before all of its own. The least
maximum of those groups is the floor. Where groups are equal to it, only the first of them count.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.cut import best_of, last_tie
from xgr.backends.cuda.beam_step.keys import NAN, POSITIVE_INFINITY
from xgr.ops.beam_step import NAN_LOGIT

_NAN_LOGIT = tl.constexpr(NAN_LOGIT)
_EVERY = tl.constexpr(0x7FFFFFFF)


@triton.jit
def find_floor(
    group_max,
    row_start,
    live,
    row_start_out,
    out_width,
    floor,
    last_group,
    listed,
    status,
    SLOTS: tl.constexpr,
    CHUNK: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (B). The floor, the last group that counts at it, and an empty list of candidates.

    A NaN or +inf among the candidates of a request leaves none. `CHUNK` keys stay in registers.
    `CHAINED`: launched before the scan has ended, and lets the next launch begin.
    """
    if CHAINED:
        gdc_launch_dependents()
        gdc_wait()
    request = tl.program_id(0)
    want, _, _ = wanted(request, row_start_out, out_width)
    n = tl.load(live + request) * SLOTS
    group_max += tl.load(row_start + request).to(tl.int64) * SLOTS
    # a few groups more cost less than the end of the search
    threshold, ties, _, greatest = best_of(group_max, n, want, want // 8, None, CHUNK)
    last = _EVERY
    if ties > 0:
        last = last_tie(group_max, n, threshold, ties, CHUNK)
    spoilt = greatest >= POSITIVE_INFINITY
    if spoilt and status is not None:
        tl.store(status + request, tl.load(status + request) | _NAN_LOGIT)
    none = spoilt | (want == 0)
    at_least = tl.where(ties == 0, threshold + 1, threshold)
    tl.store(floor + request, tl.where(none, NAN, at_least))
    tl.store(last_group + request, tl.where(none, -1, last))
    tl.store(listed + request, 0)


@triton.jit
def wanted(request, row_start_out, out_width):
    """How many survivors a request may have, its first output row, and how many there are."""
    target = tl.load(row_start_out + request)
    room = tl.load(row_start_out + request + 1) - target
    return tl.maximum(tl.minimum(tl.load(out_width + request), room), 0), target, room

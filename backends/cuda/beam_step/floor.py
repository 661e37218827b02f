"""Second launch of a beam step: the groups of a request that have all of its survivors.

The best W candidates lie in the best W groups, where maxima are ranked as candidates are: a group
that is left out has W others before it, each with a candidate before all of its own. The least
maximum kept is a floor that no survivor is below.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from xgr.backends.cuda.beam_step.cut import best_of, keep
from xgr.backends.cuda.beam_step.keys import POSITIVE_INFINITY
from xgr.ops.beam_step import NAN_LOGIT

_NAN_LOGIT = tl.constexpr(NAN_LOGIT)
# a few groups more cost less than the end of the search: one for so many
SLACK = 8
_SLACK = tl.constexpr(SLACK)


@triton.jit
def find_floor(
    group_max,
    row_start,
    live,
    row_start_out,
    out_width,
    floor,
    ceiling,
    groups_kept,
    groups_of,
    listed,
    status,
    SLOTS: tl.constexpr,
    CHUNK: tl.constexpr,
    CHAINED: tl.constexpr,
):
    """Grid (B). The floor, the greatest maximum, the kept groups in order, and no candidates yet.

    A NaN or +inf among the candidates of a request leaves none. `CHUNK` keys stay in registers.
    `CHAINED`: launched before the scan has ended, and lets the next launch begin; until it waits it
    may read what was there before the scan.
    """
    if CHAINED:
        gdc_launch_dependents()
    request = tl.program_id(0)
    want, target, _ = wanted(request, row_start_out, out_width)
    n = tl.load(live + request) * SLOTS
    group_max += tl.load(row_start + request).to(tl.int64) * SLOTS
    if CHAINED:
        gdc_wait()
    threshold, ties, count, greatest = best_of(group_max, n, want, want // _SLACK, None, CHUNK)
    if greatest >= POSITIVE_INFINITY:
        count = 0
        if status is not None:
            tl.store(status + request, tl.load(status + request) | _NAN_LOGIT)
    if want == 0:
        count = 0
    if count > 0:
        keep(group_max, n, threshold, ties, groups_kept + places_of(target), None, CHUNK)
    tl.store(floor + request, tl.where(ties == 0, threshold + 1, threshold))
    tl.store(ceiling + request, greatest)
    tl.store(groups_of + request, count)
    tl.store(listed + request, 0)


@triton.jit
def places_of(target):
    """Where the kept groups of a request begin; `target` is its first output row."""
    return target + target // _SLACK


@triton.jit
def wanted(request, row_start_out, out_width):
    """How many survivors a request may have, its first output row, and how many there are."""
    target = tl.load(row_start_out + request)
    room = tl.load(row_start_out + request + 1) - target
    return tl.maximum(tl.minimum(tl.load(out_width + request), room), 0), target, room

"""One request of a batch as a batch of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.ops.array import Filters
from xgr.ops.spec import Case, OpSpec, Values

# the axis of rows, and the argument that says which of them belong to which request
ROW_AXES = {"R": "row_start", "RO": "row_start_out"}
# arrays that hold numbers of input rows: alone, they count from the request's first row
ROW_NUMBERS: Mapping[str, Sequence[str]] = {
    "beam_sort": ("parent",),
    "beam_step": ("parent",),
    "kv_reorder": ("parent",),
    "beam_ancestors": ("ancestors", "parent", "out"),
    "block_fork": ("parent",),
    "unshared_attention": ("ancestors",),
    "staged_attention": ("ancestors",),
}


def requests(declared: OpSpec, case: Case) -> Sequence[int]:
    """Requests that can be run alone.

    None where the batch has one, the op knows no rows, or requests write to the same array.
    """
    if "row_start" not in {a.name for a in declared.args} or case.sizes["B"] == 1:
        return ()
    if any(a.role == "inout" and not {*ROW_AXES, "B"} & {*a.axis_names} for a in declared.args):
        return ()
    return range(case.sizes["B"])


def alone(
    declared: OpSpec, case: Case, host: Values, got: Values, request: int
) -> tuple[Case, Values, Values]:
    """The case, inputs and outputs of one request of a batch."""
    rows = {
        axis: slice(int(host[name][request]), int(host[name][request + 1]))
        for axis, name in ROW_AXES.items()
        if name in host
    }
    cut: dict[str, int] = {axis: s.stop - s.start for axis, s in rows.items()} | {"B": 1}
    sizes = {axis: cut.get(axis, size) for axis, size in case.sizes.items()}

    first = rows["R"].start
    numbers = ROW_NUMBERS.get(declared.name, ())
    axes = {arg.name: arg.axis_names for arg in declared.args}

    def part(values: Values) -> Values:
        return {
            name: _part(value, axes.get(name, ()), rows, request, first if name in numbers else 0)
            for name, value in values.items()
        }

    return replace(case, sizes=sizes), part(host), part(got)


def _part(
    value: Any, axes: Sequence[str], rows: Mapping[str, slice], request: int, first: int
) -> Any:
    if isinstance(value, Filters):
        return _filters(value, request)
    if isinstance(value, list):
        return [_part(one, axes, rows, request, first) for one in value]
    if value is None or not axes:
        return value
    spans = {"B": slice(request, request + 1), "B1": slice(request, request + 2), **rows}
    part: NDArray[Any] = value[tuple(spans.get(axis, slice(None)) for axis in axes)]
    if "B1" in axes:
        first = part[0]
    return part - part.dtype.type(first) if first else np.ascontiguousarray(part)


def _filters(filters: Filters, request: int) -> Filters:
    one = slice(request, request + 1)
    start = np.asarray(filters.start)[:, request : request + 2].copy()
    return replace(filters, kind=filters.kind[one], start=start, mask=filters.mask[one])

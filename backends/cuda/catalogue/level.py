"""A level of the catalogue in a kernel: the children of a row, and which of them filters keep.

A kernel gets the arrays as they are, or the descriptor that holds their addresses: a captured
graph follows the descriptor to another catalogue.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from xgr.backends.levels import filter_arguments, trie_arguments
from xgr.ops.array import ALLOW, DESCRIBED, EXCLUDE, Filters, Trie

# int64 words of a level in the descriptor, and where each of them is
_FIELDS = tl.constexpr(len(DESCRIBED))
_CODE, _NODES, _FIRST_CHILD, _WORDS, _MASK_PITCH = map(tl.constexpr, range(len(DESCRIBED)))
_EXCLUDE, _ALLOW = tl.constexpr(EXCLUDE), tl.constexpr(ALLOW)
# above every node
_BEYOND = tl.constexpr(0x7FFFFFFF)


def level_arguments(
    trie: Trie, filters: Filters | None, level: int, columns: int
) -> dict[str, Any]:
    """What a kernel needs of a level and the filters at it, by the names of its parameters.

    Raises:
        InputError: `level` is beyond the catalogue's depth, or its codes exceed `columns`.
    """
    return trie_arguments(trie, level, columns) | filter_arguments(trie, filters, level)


# the parameters of a kernel without a catalogue
NOTHING: dict[str, Any] = trie_arguments(None, 0, 0) | filter_arguments(None, None, 0)


@triton.jit
def codes_of(descriptor, code, level):
    """Codes of the nodes of a level."""
    if descriptor is not None:
        code = tl.load(descriptor + level * _FIELDS + _CODE).to(tl.pointer_type(tl.int32))
    return code


@triton.jit
def children_of(node, descriptor, first_child, nodes_here, nodes_above, level, ROOT: tl.constexpr):
    """First child of a node at `level`, and how many there are: none of a node that is not."""
    if ROOT:
        low = 0
        count = nodes_here
        if descriptor is not None:
            count = tl.load(descriptor + _NODES).to(tl.int32)
    else:
        if descriptor is not None:
            above = descriptor + (level - 1) * _FIELDS
            nodes_above = tl.load(above + _NODES).to(tl.int32)
            first_child = tl.load(above + _FIRST_CHILD).to(tl.pointer_type(tl.int32))
        exists = (node >= 0) & (node < nodes_above)
        low = tl.load(first_child + node, mask=exists, other=0)
        count = tl.load(first_child + node + 1, mask=exists, other=0) - low
    return low, count


@triton.jit
def run_of(request, low, count, kind, list_start, listed):
    """The request's list among nodes low .. low + count - 1: its kind, where it begins and ends."""
    rule = tl.load(kind + request)
    begin = tl.load(list_start + request)
    length = tl.load(list_start + request + 1) - begin
    length = tl.where(rule == 0, 0, length)
    first = lower_bound(listed, begin, length, low)
    end = lower_bound(listed, begin, length, low + count)
    return rule, first, end


@triton.jit
def kept(child, inside, rule, first, end, listed, slot, descriptor, words, mask_pitch, level):
    """Which children the list's run first .. end - 1 and mask `slot` (-1 for none) let live."""
    at = lower_bound(listed, first, end - first, child)
    named = tl.load(listed + at, mask=inside & (at < end), other=-1) == child
    alive = inside & ((rule != _EXCLUDE) | ~named) & ((rule != _ALLOW) | named)
    if descriptor is not None:
        here = descriptor + level * _FIELDS
        words = tl.load(here + _WORDS).to(tl.pointer_type(tl.uint32))
        mask_pitch = tl.load(here + _MASK_PITCH)
    masked = alive & (slot >= 0)
    of_slot = words + slot.to(tl.int64) * mask_pitch
    word = tl.load(of_slot + (child >> 5), mask=masked, other=0).to(tl.int32, bitcast=True)
    return alive & ((slot < 0) | (((word >> (child & 31)) & 1) == 1))


@triton.jit
def lower_bound(listed, begin, length, value):
    """First place of the sorted listed[begin : begin + length] that is not below `value`."""
    at = value * 0 + begin
    end = begin + length
    while length > 1:
        half = length // 2
        below = tl.load(listed + at + half - 1) < value
        at = tl.where(below, at + half, at)
        length -= half
    last = tl.load(listed + at, mask=at < end, other=_BEYOND)
    return at + (last < value).to(tl.int32)

"""A level of the catalogue in a kernel: children of a node, 32 at a time, and who of them lives.

Children of a node are consecutive nodes. They are taken by aligned groups of 32, so that a group's
bits in a mask are one word, and its entries in a sorted list at most 32 neighbours.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,misc"
# Triton compiles the functions from their source; their arguments are no Python values

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from xgr.backends.ascend.triton.strides import dense
from xgr.backends.levels import filter_arguments, trie_arguments
from xgr.ops.array import ALLOW, DESCRIBED, KEEP_ALL, Filters, Trie

# nodes of a group, the bits of a word
GROUP = tl.constexpr(32)
# int64 words of a level in the descriptor, and where each of them is
_FIELDS = tl.constexpr(len(DESCRIBED))
_CODE, _NODES, _FIRST_CHILD, _WORDS, _MASK_PITCH = map(tl.constexpr, range(len(DESCRIBED)))
_KEEP_ALL, _ALLOW = tl.constexpr(KEEP_ALL), tl.constexpr(ALLOW)


def level_arguments(
    trie: Trie, filters: Filters | None, level: int, columns: int
) -> dict[str, Any]:
    """What a kernel needs of a level and the filters at it, by the names of its parameters.

    A captured graph follows a descriptor to another catalogue; arrays it keeps as they are.

    Raises:
        InputError: `level` is beyond the catalogue's depth, or its codes exceed `columns`.
    """
    found = trie_arguments(trie, level, columns) | filter_arguments(trie, filters, level)
    if found["words"] is not None:
        dense("filters.words", found["words"])
        found["words"] = found["words"].view(torch.int32)
    return found


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
        inside = tl.where(exists, node, 0)
        low = tl.load(first_child + inside)
        count = tl.where(exists, tl.load(first_child + inside + 1) - low, 0)
    return low, count


@triton.jit
def codes_of(descriptor, code, level):
    """Codes of the nodes of a level."""
    if descriptor is not None:
        code = tl.load(descriptor + level * _FIELDS + _CODE).to(tl.pointer_type(tl.int32))
    return code


@triton.jit
def words_of(descriptor, words, mask_pitch, level):
    """Bits of the masks of a level, and how many words a mask has."""
    if descriptor is not None:
        here = descriptor + level * _FIELDS
        words = tl.load(here + _WORDS).to(tl.pointer_type(tl.int32))
        mask_pitch = tl.load(here + _MASK_PITCH)
    return words, mask_pitch


@triton.jit
def kept(child, inside, group, rule, begin, end, listed, slot, words, mask_pitch):
    """Which nodes of a group the request's list and mask let live.

    What it takes:
        child, inside: node ids group .. group + GROUP - 1, and which of them are asked about.
        rule, begin, end: kind of the request's list, and where in `listed` it is.
        slot: the mask's row in `words`, -1 for none.
    """
    alive = inside
    if rule != _KEEP_ALL:
        # the group's entries: at most GROUP of them, behind the first that is not below it
        low = begin
        high = end
        while low < high:
            middle = (low + high) // 2
            below = tl.load(listed + middle) < group
            low = tl.where(below, middle + 1, low)
            high = tl.where(below, high, middle)
        at = tl.arange(0, GROUP)
        entries = tl.load(listed + low + at, mask=at < end - low, other=-1)
        named = tl.max((entries[None, :] == child[:, None]).to(tl.int32), axis=1)
        wanted = tl.where(rule == _ALLOW, 1, 0)
        alive = inside & (named == wanted)
    if slot >= 0:
        word = tl.load(words + slot.to(tl.int64) * mask_pitch + group // GROUP)
        alive = alive & (((word >> tl.arange(0, GROUP)) & 1) == 1)
    return alive

"""What the layers above the backends may do with an array: read its shape, slice it, reshape it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Array(Protocol):
    """A backend's native array (np.ndarray, torch.Tensor); anything else is an op."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        ...

    def __getitem__(self, index: Any, /) -> Any:
        """A view: basic slicing only."""
        ...

    def reshape(self, shape: Any, /) -> Any:
        """A view of the same elements in another shape."""
        ...


@dataclass(frozen=True, slots=True)
class TrieLevel:
    """Nodes of one level of the catalogue, sorted lexicographically by their prefix.

    Attributes:
        code: int32 [n], the node's own code (column of the level's logits).
        first_child: int32 [n + 1], children of node i are nodes first_child[i] up to
            first_child[i + 1] - 1 of the next level; None at the last level.
    """

    code: Array
    first_child: Array | None


# int64 words of a level in a descriptor: address of `code`, number of nodes, addresses of
# `first_child` and of the bits of registered filters (0 for none), uint32 words of one filter
DESCRIBED = ("code", "nodes", "first_child", "words", "mask_pitch")


@dataclass(frozen=True, slots=True)
class Trie:
    """The catalogue as kernels read it; the children of the root are all nodes of level 0.

    Attributes:
        levels: one `TrieLevel` a level.
        level_sizes: K_l, the number of codes of each level.
        version: the catalogue's version, for messages.
        descriptor: int64 device array, the words of `DESCRIBED` for each level, for backends that
            read the catalogue through it; None where arrays are passed as they are.
    """

    levels: tuple[TrieLevel, ...]
    level_sizes: tuple[int, ...]
    version: str
    descriptor: Array | None = None


# Values of Filters.kind.
KEEP_ALL, EXCLUDE, ALLOW = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Filters:
    """Per-request filters of a batch, as node lists and shared node bitmasks.

    A node of level l survives in request b when it is not on b's list (kind EXCLUDE), is on it
    (kind ALLOW), or always (KEEP_ALL), and its bit in the mask that b names is set.

    Attributes:
        kind: int32 [B], KEEP_ALL, EXCLUDE or ALLOW.
        start: int32 [D, B + 1], request b's list at level l is nodes[l, start[l, b]:start[l, b+1]].
        nodes: int32 [D, F], sorted within each list; F is the fixed capacity.
        mask: int32 [B], row of `words` that the request uses, -1 for none.
        words: per level uint32 [M, ceil(n_l / 32)], bit node & 31 of word node >> 5 set = alive.
    """

    kind: Array
    start: Array
    nodes: Array
    mask: Array
    words: tuple[Array, ...]

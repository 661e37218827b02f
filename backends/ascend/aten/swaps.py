"""Whether the catalogue that a captured graph has read is still the one that is served."""

from __future__ import annotations

from torch import Tensor

from xgr.backends.ascend import graph
from xgr.ops.array import Trie


class Swaps:
    """What a graph watches where launches read the trie's arrays, and not through its descriptor.

    A descriptor is written anew when another catalogue is served, or when masks come: torch counts
    its writes. A graph that sees another count launches one by one, and is recorded again.
    """

    def __init__(self) -> None:
        self._descriptor: Tensor | None = None

    def follow(self, trie: Trie) -> None:
        """Let a graph that watches the launches know; a trie without descriptor never changes."""
        if trie.descriptor is None:
            return
        descriptor: Tensor = trie.descriptor  # type: ignore[assignment]
        if descriptor.is_inference():
            graph.refuse("tensors made under torch.inference_mode() do not count their writes")
            return
        self._descriptor = descriptor
        graph.depends(self)

    @property
    def version(self) -> int:
        """Writes of the descriptor so far."""
        return 0 if self._descriptor is None else self._descriptor._version

    @property
    def layout(self) -> int:
        """The same: a captured launch cannot be given another catalogue."""
        return self.version

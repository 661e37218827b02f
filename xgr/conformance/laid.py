"""The arguments of a case on a device: every array between canaries, inputs checked afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xgr.conformance.canary import Guarded, pattern
from xgr.ops.array import Filters, Trie, TrieLevel
from xgr.ops.dtype import dtype
from xgr.ops.spec import Arg, OpSpec, Values
from xgr.runtime import Runtime


class Laid:
    """Host values of a case, laid on a device.

    Attributes:
        arguments: what to launch with.
    """

    def __init__(
        self, runtime: Runtime, spec: OpSpec, host: Values, kind: str, strided: bool
    ) -> None:
        self._runtime, self._kind, self._strided = runtime, kind, strided
        self._host: list[tuple[str, Guarded, NDArray[Any]]] = []
        self._outputs: dict[str, Guarded] = {}
        self.arguments: dict[str, Any] = {s.name: host[s.name] for s in spec.scalars}
        for arg in spec.args:
            self.arguments[arg.name] = self._argument(arg, host.get(arg.name))

    def reset(self) -> None:
        """Set inputs to their values and outputs to canaries."""
        for guarded in self._outputs.values():
            guarded.fill()
        for _, guarded, host in self._host:
            guarded.fill(host)

    def outputs(self) -> Values:
        """Host copies of what was written."""
        return {name: guarded.fetch() for name, guarded in self._outputs.items()}

    def damage(self) -> Iterator[str]:
        """A sentence for each array that was written where it must not be."""
        for name, guarded in self._outputs.items():
            if not guarded.intact():
                yield f"{name} was written outside of its elements"
        for name, guarded, host in self._host:
            if name in self._outputs:
                continue
            if not guarded.intact():
                yield f"the memory around the input {name} was written"
            elif guarded.fetch().tobytes() != np.ascontiguousarray(host).tobytes():
                yield f"the input {name} was changed"

    def _argument(self, arg: Arg, value: Any) -> Any:
        if value is None:
            return None
        if arg.struct == "trie":
            return self._trie(value)
        if arg.struct == "filters":
            return self._filters(value)
        if arg.many:
            return [self._tensor(arg, f"{arg.name}[{i}]", v) for i, v in enumerate(value)]
        return self._tensor(arg, arg.name, value)

    def _tensor(self, arg: Arg, name: str, value: NDArray[Any]) -> Any:
        kind = self._kind if arg.dtype == "model" else arg.dtype
        guarded = Guarded(self._runtime, value.shape, dtype(kind), self._strided)
        if arg.role != "out":
            self._host.append((name, guarded, value))
        if arg.role != "in":
            self._outputs[name] = guarded
        return guarded.view

    def _plain(self, name: str, value: Any, kind: str = "int32") -> Any:
        guarded = Guarded(self._runtime, value.shape, dtype(kind))
        self._host.append((name, guarded, value))
        return guarded.view

    def _trie(self, trie: Trie) -> Trie:
        levels = []
        for depth, level in enumerate(trie.levels):
            code = self._plain(f"trie.levels[{depth}].code", level.code)
            below = level.first_child
            if below is not None:
                below = self._plain(f"trie.levels[{depth}].first_child", below)
            levels.append(TrieLevel(code, below))
        return Trie(tuple(levels), trie.level_sizes, trie.version)

    def _filters(self, filters: Filters) -> Filters:
        words = tuple(
            self._plain(f"filters.words[{level}]", one, "uint32")
            for level, one in enumerate(filters.words)
        )
        rest = {
            f.name: self._plain(f"filters.{f.name}", getattr(filters, f.name))
            for f in fields(filters)
            if f.name != "words"
        }
        return Filters(**rest, words=words)


def with_outputs(spec: OpSpec, host: Values, sizes: Mapping[str, int], kind: str) -> Values:
    """Host values with canaries for the outputs, which is what an unwritten element must hold."""
    values = dict(host)
    for arg in spec.args:
        if arg.role == "out":
            element = dtype(kind if arg.dtype == "model" else arg.dtype)
            values[arg.name] = pattern(spec.shape(arg, sizes), element)
    return values

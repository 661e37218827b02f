"""Ops by name, for scripts: the arrays of a call pose the problem, and what was bound is kept."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from xgr.ops.spec import OpSpec
from xgr.registry.bind import Bound
from xgr.registry.recent import Recent

Pose = Callable[[Mapping[str, Any], str | None], Bound]

# bound ops that an op's name keeps
CAPACITY = 64


def convenience(declared: OpSpec, pose: Pose, kept: Recent[Any, Bound]) -> Callable[..., None]:
    """The op as a function of its arguments, and `kernel=` to force one.

    Args:
        declared: the op.
        pose: checks arguments and binds their problem, for a kernel when one is forced.
        kept: bound ops by what stands for a problem; may be cleared at any time.
    """
    tensors = [a for a in declared.args if not a.struct]
    lists = [a.name for a in tensors if a.many]
    optional = [a.name for a in tensors if a.optional]
    structs = [a.name for a in declared.args if a.struct and a.optional]
    flags = [s.name for s in declared.scalars if s.flag]
    pick_flags = operator.itemgetter(*flags) if flags else _nothing
    more = bool(lists or optional or structs)
    pick = operator.itemgetter(*[a.name for a in tensors if not a.many and not a.optional])
    traits = operator.attrgetter("shape", "dtype")
    find, tick = kept.get, kept.tick

    def call(*, kernel: str | None = None, **arguments: Any) -> None:
        # shapes and dtypes stand for the problem: cheaper to collect than to check
        try:
            key: Any = (kernel, pick_flags(arguments), *map(traits, pick(arguments)))
            if more:
                key = (
                    *key,
                    *[traits(x) if (x := arguments.get(n)) is not None else None for n in optional],
                    *[arguments.get(name) is None for name in structs],
                    *[tuple(map(traits, arguments[name])) for name in lists],
                )
            found = find(key)
        except (KeyError, AttributeError, TypeError):
            pose(arguments, kernel)  # says which argument is wrong
            raise
        if found is None:
            found = kept.keep(key, pose(arguments, kernel))
        else:
            found.at = tick()
        try:
            found.value(**arguments)
        except TypeError:
            pose(arguments, kernel)  # a missing or unknown argument, or the kernel's own fault
            raise

    return call


def _nothing(arguments: Mapping[str, Any]) -> None:
    return

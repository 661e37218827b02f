"""The ops of xgr, one file an op: a module that defines `SPEC` declares one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from xgr.ops.spec import OpSpec


@cache
def specs() -> dict[str, OpSpec]:
    """Every declared op by name."""
    found: dict[str, OpSpec] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        spec = getattr(importlib.import_module(f"{__name__}.{module}"), "SPEC", None)
        if isinstance(spec, OpSpec):
            found[spec.name] = spec
    return found


def spec(name: str) -> OpSpec:
    """The declaration of an op; an unknown name lists the known ones."""
    found = specs()
    if name not in found:
        raise ValueError(f"op {name!r} is not declared; declared: {', '.join(found)}")
    return found[name]

"""xgr: the runtime that generative recommendation runs on.

`import xgr` imports neither torch nor NumPy; the engine is loaded when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xgr.ops.dtype import bfloat16, float16, float32, int32
from xgr.ops.spec import Problem

# imported here and not on first use: the function must win over the submodule of its name
from xgr.runtime import Runtime, runtime

if TYPE_CHECKING:
    from xgr.catalog import Catalogue
    from xgr.engine import Recommender

__version__ = "0.1.0"

__all__ = [
    "Catalogue",
    "Problem",
    "Recommender",
    "Runtime",
    "bfloat16",
    "float16",
    "float32",
    "int32",
    "runtime",
]

_LAZY = {"Catalogue": "xgr.catalog", "Recommender": "xgr.engine"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'xgr' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value

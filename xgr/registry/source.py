"""The version of a kernel: a hash of the Python that it is made of, comments and docstrings aside.

A table holds times of kernels as they were; one whose kernel has changed since is refused.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from xgr.registry.kernel import Kernel

# packages of which each sub-package is a backend
_HOLDERS = ("xgr.backends",)


def source_hash(kernel: Kernel) -> str:
    """Of the kernel's module and all that it imports of its backend; "" for a bare function."""
    if not isinstance(kernel.factory, str):
        return ""
    return _hash(kernel.factory.partition(":")[0])


@cache
def _hash(module: str) -> str:
    root = _root(module)
    found = find_spec(root)
    if found is None or found.origin is None:
        return ""
    folder, todo, seen = Path(found.origin).parent, [module], dict[str, str]()
    while todo:
        name = todo.pop()
        path = _file(folder, root, name)
        if name not in seen and path is not None:
            imports, seen[name] = _read(path, root)
            todo += imports
    text = "".join(f"{name} {seen[name]}\n" for name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _root(module: str) -> str:
    for holder in _HOLDERS:
        if module.startswith(f"{holder}."):
            return ".".join(module.split(".")[: holder.count(".") + 2])
    return module.partition(".")[0]


def _file(folder: Path, root: str, module: str) -> Path | None:
    """Where a module of the backend stands; None for a name that is no module."""
    place = folder.joinpath(*module.removeprefix(root).split("."))
    paths = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in paths if path.is_file()), None)


@cache
def _read(path: Path, root: str) -> tuple[tuple[str, ...], str]:
    """What a module imports from `root`, modules or their names, and a hash of what it does."""
    tree = ast.parse(path.read_bytes())
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(root):
            names += [str(node.module), *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names += [one.name for one in node.names if one.name.startswith(root)]
    text: list[str] = []
    _write(tree, text)
    return tuple(names), hashlib.sha256(" ".join(text).encode()).hexdigest()


def _write(node: object, out: list[str]) -> None:
    """The tree as text that does not depend on Python's version: empty fields are left out."""
    if isinstance(node, list):
        for one in node:
            if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
                _write(one, out)
    elif isinstance(node, ast.AST):
        out.append(f"({type(node).__name__}")
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in {"ctx", "kind"}:
                out.append(name)
                _write(value, out)
        out.append(")")
    else:
        out.append(repr(node))

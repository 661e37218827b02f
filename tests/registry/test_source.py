"""The hash of a kernel: what it does and what it imports, comments and docstrings aside."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xgr.registry import Kernel, source

Write = Callable[[dict[str, str]], str]


@pytest.fixture
def hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the files of a backend `acme_kernels` and hashes the kernel in its file a.py."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "acme_kernels"
    folder.mkdir()
    (folder / "__init__.py").touch()

    def write(files: dict[str, str]) -> str:
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        source._hash.cache_clear()
        source._read.cache_clear()
        sys.modules.pop("acme_kernels", None)
        return source.source_hash(Kernel("embed", "acme.a", "acme_kernels.a:build"))

    return write


def test_words_do_not_count_and_code_does(hashed: Write) -> None:
    first = hashed({"a": "def build():\n    return 1\n"})
    assert len(first) == 16
    assert (
        hashed({"a": '"""About."""\n# why\ndef build():\n    """One."""\n    return 1\n'}) == first
    )
    assert hashed({"a": "def build():\n    return 2\n"}) != first


def test_what_is_imported_counts_and_neighbours_do_not(hashed: Write) -> None:
    text = "from acme_kernels.b import x\nfrom acme_kernels import c\ndef build():\n    return x\n"
    files = {"a": text, "b": "x = 1\n", "c": "y = 1\n", "d": "z = 1\n"}
    first = hashed(files)
    assert hashed({"d": "z = 2\n"}) == first
    assert hashed({"b": "x = 2\n"}) != first
    assert hashed({"b": "x = 1\n"}) == first
    assert hashed({"c": "y = 2\n"}) != first


def test_a_bare_function_has_none() -> None:
    assert source.source_hash(Kernel("embed", "tests.a", lambda problem, context: print)) == ""

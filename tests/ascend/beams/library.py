"""The operators of `csrc` over emulated kernels, built and loaded before anything is bound."""

from __future__ import annotations

import os

from tests.ascend.glue.library import built
from xgr.backends.ascend.ascendc import library


def need_library() -> None:
    """Build them where none are named, and load them.

    Raises:
        AssertionError: they cannot be built or loaded, with the reason.
    """
    if not library.is_loaded():
        os.environ.setdefault(library.VARIABLE, str(built()))
        library.load.cache_clear()
    assert not library.load()

"""Where the real checkpoints and histories lie that tests use and the package does not ship."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def shared(relative: str) -> Path:
    """Path of a shared test asset; fails, never skips, when it is not there."""
    base = Path(os.environ.get("XGR_SHARED", ROOT.parent / "shared"))
    path = base / relative
    if not path.exists():
        raise AssertionError(
            f"{path} is missing: this test needs the shared assets; "
            "lay them beside the clone or set XGR_SHARED to their folder"
        )
    return path

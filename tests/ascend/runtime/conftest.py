"""What torch_npu says once a process, whichever test comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            quiet = pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format")
            item.add_marker(quiet)

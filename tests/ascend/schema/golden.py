"""The schemas of what is called, as the wheel that was tried has them; run it to write them."""

from __future__ import annotations

import json
from pathlib import Path

GOLDEN = Path(__file__).with_name("schemas.json")


def installed() -> dict[str, str]:
    """Schema of each operator that the backend calls, of the torch_npu that is installed."""
    from xgr.backends.ascend import _compat

    _compat.npu()
    names = [*_compat.SCHEMAS, *_compat.IMPLEMENTED]
    return {name: str(_compat.operator(name)._schema) for name in names}


def committed() -> dict[str, str]:
    """Those of torch_npu 2.13.0."""
    found: dict[str, str] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(installed(), indent=1) + "\n", encoding="utf-8")

"""What the report must say of the machine."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import xgr
from xgr.backends.ascend import STANDING, _compat, soc
from xgr.backends.ascend.ascendc import library
from xgr.runtime import Runtime

# files in which CANN and the driver say their versions
_CANN = ("version.cfg", "compiler/version.info", "runtime/version.info", "opp/version.info")
_DRIVER = Path("/usr/local/Ascend/driver/version.info")


def facts(rt: Runtime) -> dict[str, Any]:
    """Versions, the device and what the table of chips says of it."""
    npu = _compat.npu()
    backend: Any = rt.backend
    name = npu.get_device_name()
    table = soc.SOCS.get(name)
    properties = npu.get_device_properties()
    return {
        "xgr": xgr.__version__,
        "standing": STANDING,
        "python": platform.python_version(),
        "host": f"{platform.machine()} {platform.system()} {platform.release()}",
        "versions": _compat.versions(),
        "cann": {str(path): text for path in _cann() if (text := _text(path))},
        "driver": _text(_DRIVER),
        # a stand-in shows here, whatever the device calls itself
        "runtime": loaded("libascendcl", "libopapi"),
        "device": name,
        "count": npu.device_count(),
        "properties": str(properties),
        "soc": asdict(backend.soc),
        "table": "no row" if table is None else asdict(table),
        "memory": asdict(rt.memory()),
        "library": "; ".join(map(str, library.load())) or "loaded",
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_SHOWN)},
    }


_SHOWN = ("XGR_", "ASCEND_", "TASK_QUEUE", "HCCL_", "PYTORCH_NPU", "ACL_")


def loaded(*libraries: str) -> list[str]:
    """Files of libraries, as this process has mapped them."""
    lines = _text(Path("/proc/self/maps"), None).splitlines()
    files = {line[line.index("/") :] for line in lines if "/" in line}
    return sorted({f for f in files if Path(f).name.startswith(libraries)})


def _cann() -> list[Path]:
    home = os.environ.get("ASCEND_HOME_PATH")
    return [Path(home) / name for name in _CANN] if home else []


def _text(path: Path, most: int | None = 400) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:most]
    except OSError:
        return ""

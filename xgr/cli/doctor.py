"""`xgr doctor`: what of each backend is there, what is missing, and the command that mends it."""

from __future__ import annotations

import json
import platform
from typing import Any

import typer

import xgr
from xgr import env
from xgr.cli.options import JsonFlag
from xgr.errors import BackendMissing
from xgr.registry import discover


def doctor(as_json: JsonFlag = False) -> None:
    """Report every backend; exit code 1 when none that computes is usable."""
    reports = [_report(device) for device in discover.found()]
    reports += [
        {"device": device, "usable": False, "summary": f"{what}: not part of this release"}
        for device, what in discover.PLANNED.items()
        if device not in discover.found()
    ]
    reports += [
        {
            "device": b.device,
            "usable": False,
            "summary": f"{b.origin} is ignored: the name is taken",
        }
        for b in discover.ignored()
    ]
    settings = {v.name: v.meaning for v in env.VARIABLES}
    if as_json:
        found = {"xgr": xgr.__version__, "python": platform.python_version()}
        typer.echo(json.dumps({**found, "backends": reports, "env": settings}, indent=1))
    else:
        typer.echo(f"xgr {xgr.__version__}, Python {platform.python_version()}")
        for report in reports:
            mark = "ok " if report["usable"] else "-- "
            typer.echo(f"{mark}{report['device']:6} {report['summary']}")
            for reason in report.get("missing", ()):
                typer.echo(f"          {reason}")
        typer.echo("environment variables:")
        for name, meaning in settings.items():
            typer.echo(f"   {name:18} {meaning}")
    if not any(r["usable"] for r in reports if r["device"] != "null"):
        raise typer.Exit(1)


def _report(device: str) -> dict[str, Any]:
    origin = discover.found()[device].origin
    broken = {"device": device, "origin": origin, "usable": False}
    try:
        probe = discover.load(device).probe()
        return {
            "device": device,
            "origin": origin,
            "usable": probe.available,
            "summary": f"{probe.summary} ({origin})",
            "missing": [str(reason) for reason in probe.reasons],
        }
    except BackendMissing as error:
        return broken | {"summary": str(error)}
    except Exception as error:  # one broken backend must not hide the others
        return broken | {"summary": f"{origin}: probe failed: {type(error).__name__}: {error}"}

"""`xgr doctor`: what of each backend is there, what is missing, and the command that mends it."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

import typer

import xgr
from xgr import env
from xgr.cli.options import JsonFlag
from xgr.errors import BackendMissing, XgrError
from xgr.registry import discover
from xgr.runtime import runtime


def doctor(as_json: JsonFlag = False) -> None:
    """Report every backend, and variables with wrong values.

    Exit code 1 when no backend that computes is usable, or a variable is wrong.
    """
    reports = [_report(device) for device in discover.found()]
    reports += [
        {
            "device": b.device,
            "usable": False,
            "summary": f"{b.origin} is ignored: the name is taken",
        }
        for b in discover.ignored()
    ]
    settings = {v.name: v.meaning for v in env.VARIABLES}
    wrong = _wrong_settings([r["device"] for r in reports if r["usable"]])
    if as_json:
        found = {"xgr": xgr.__version__, "python": platform.python_version()}
        report = {**found, "backends": reports, "env": settings}
        typer.echo(json.dumps(report | {"env_errors": wrong}, indent=1))
    else:
        typer.echo(f"xgr {xgr.__version__}, Python {platform.python_version()}")
        for report in reports:
            mark = "ok " if report["usable"] else "-- "
            typer.echo(f"{mark}{report['device']:6} {report['summary']}")
            for reason in report.get("missing", ()):
                typer.echo(f"          {reason}")
        typer.echo("environment variables:")
        for name, meaning in settings.items():
            given = f" = {os.environ[name]}" if name in os.environ else ""
            typer.echo(f"   {name:18} {meaning}{given}")
        for error in wrong:
            typer.echo(f"-- {error}")
    if wrong or not any(r["usable"] for r in reports if r["device"] != "null"):
        raise typer.Exit(1)


def _wrong_settings(devices: list[str]) -> list[str]:
    """What runtimes of these devices refuse about the environment variables."""
    found: dict[str, None] = {}
    for device in devices:
        try:
            runtime(device)
        except BackendMissing:
            continue  # in the device's own line
        except XgrError as error:
            found[str(error)] = None
    return list(found)


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

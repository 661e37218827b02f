"""`xgr tune`: measure the kernels of this device, fit tables, say what they are worth."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from xgr.bench import plot as plots
from xgr.bench import record
from xgr.cli import options, tune_engine
from xgr.cli.progress import Bar, print_lines
from xgr.errors import InputError
from xgr.runtime import Runtime, runtime
from xgr.tuner import cost_model, diff, report, run, write

app = typer.Typer(help="Measure this device and write tuned tables.", add_completion=False)
app.command("engine")(tune_engine.engine)

Table = Annotated[Path, typer.Argument(help="A table, *.json.")]
Ops = Annotated[
    list[str] | None, typer.Option("--op", help="Ops, each as OP or OP:DTYPE; else the device's.")
]
Problems = Annotated[int, typer.Option(help="Problems of the sample.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of tables, or a file *.json for one op; default tables/DEVICE."),
]


@app.callback(invoke_without_command=True)
def tune(
    context: typer.Context,
    device: options.Device = "cpu",
    op: Ops = None,
    budget: Annotated[str, typer.Option(help="Time for all ops: 90, 90s or 5m.")] = "120s",
    problems: Problems = run.PROBLEMS,
    out: Out = None,
    rows_only: Annotated[
        bool, typer.Option("--rows-only", help="Measure, and leave the fit to `xgr tune fit`.")
    ] = False,
) -> None:
    """Measure a sample of problems on every candidate, fit a tree an op and write it as a table.

    Rows are kept beside the table as they are measured: the same command goes on with them.
    Example: xgr tune --device cuda --budget 120s, then XGR_TABLES=tables/nvidia-h200
    """
    if context.invoked_subcommand is not None:
        return
    options.check_positive({"--problems": problems})
    end = time.monotonic() + options.seconds(budget)
    rt = runtime(device)
    paths = _paths(rt, op, out)
    for number, ((name, dtype), path) in enumerate(paths.items()):
        share = (end - time.monotonic()) / (len(paths) - number)
        rows = _rows(path)
        with Bar(f"{name} {dtype}") as shown:
            run.measure(rt, name, dtype, rows, max(0.0, share), problems, shown)
        if not rows_only:
            _write(rows, path)


@app.command("cost-model")
def by_cost_model(
    device: options.Device = "npu",
    soc: options.Soc = None,
    op: Ops = None,
    problems: Problems = run.PROBLEMS,
    out: Out = None,
) -> None:
    """Fit tables to the kernels' cost models, for a device that nobody has measured.

    The tables are marked "modelled, not measured". None ships: XGR_TABLES uses them.
    """
    options.check_positive({"--problems": problems})
    rt = options.here_or_planned(device, soc)
    paths = _paths(rt, op, out)
    for (name, dtype), path in paths.items():
        rows = _rows(path)
        cost_model.fill(rt, name, dtype, rows, problems)
        _write(rows, path)


@app.command()
def fit(
    rows: Annotated[list[Path], typer.Argument(help="Measured rows, *.rows.jsonl.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of tables; else beside the rows.")
    ] = None,
) -> None:
    """Fit rows that were measured before, elsewhere perhaps, and write their tables."""
    for path in rows:
        target = (out or path.parent) / f"{path.name.removesuffix('.rows.jsonl')}.json"
        print_lines(report.lines(write.write(path, target)))
        typer.echo(f"{target} is written")


@app.command("report")
def show(
    tables: Annotated[list[Path], typer.Argument(help="Tables, *.json.")],
    plot: Annotated[
        Path | None, typer.Option(help="Draw the regrets, *.png, *.svg or *.pdf.")
    ] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Regret on held-out problems: of the tree, of the kernels' own rules, of one configuration."""
    if plot is not None:
        plots.check(plot)
    found = [_read(path) for path in tables]
    if as_json:
        typer.echo(json.dumps([report.summary(one) for one in found], indent=1))
    else:
        for one in found:
            print_lines(report.lines(one))
    if plot is not None:
        report.plot(found, plot)


@app.command("diff")
def compare(before: Table, after: Table) -> None:
    """Where two tables of an op choose differently, by the rows of both."""
    print_lines(diff.lines(_read(before), _read(after)))


def _ops(given: list[str] | None, default: dict[str, str]) -> list[tuple[str, str]]:
    if not given and not default:
        raise InputError("nothing is tuned on this device unless --op says what")
    pairs = [text.partition(":") for text in given or ()]
    return [(op, dtype or default.get(op, "float32")) for op, _, dtype in pairs] or list(
        default.items()
    )


def _paths(
    rt: Runtime, given: list[str] | None, folder: Path | None
) -> dict[tuple[str, str], Path]:
    """Where the table of each op and dtype goes; it and its rows can be written there."""
    chosen = _ops(given, run.DEFAULT.get(rt.backend.name, {}))
    for op, dtype in chosen:
        run.check(op, dtype)
    out = folder or Path("tables") / rt.backend.device
    if out.suffix == ".json":
        if len(chosen) > 1:
            raise InputError(f"--out {out} is one file for {len(chosen)} ops: give a folder")
        found = {chosen[0]: out}
    else:
        found = {one: out / f"{'.'.join(one)}.json" for one in chosen}
    for path in found.values():
        record.check_writable(path)
        record.check_writable(_rows(path))
    return found


def _rows(path: Path) -> Path:
    """Where the rows of a table are kept."""
    return path.with_suffix(".rows.jsonl")


def _write(rows: Path, path: Path) -> None:
    print_lines(report.lines(write.write(rows, path)))
    typer.echo(f"{path} is written; XGR_TABLES={path.parent} uses it")


def _read(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        report.check(table)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no tuned table: {error!r}") from None
    found: dict[str, Any] = table
    return found

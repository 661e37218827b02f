"""`xgr ops`: the case table on every backend: test, time, list, and what is supported."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from xgr.bench import record
from xgr.cli import options
from xgr.cli.output import print_table
from xgr.conformance import Outcome, Result, run, table
from xgr.conformance.entries import Entry, cases_of, kernel_names, named, runtime_of
from xgr.conformance.perf import measure, perf_cases
from xgr.conformance.support import markdown, rows, write
from xgr.errors import InputError, Unsupported
from xgr.ops import specs
from xgr.registry import discover

app = typer.Typer(help="Test, time and list the ops of every backend.", no_args_is_help=True)

Op = Annotated[str, typer.Option("-o", "--op", help="Only this op.")]
Device = Annotated[str, typer.Option("-b", "--backend", help="Only this backend: cpu, null, ...")]
KernelName = Annotated[str, typer.Option("-k", "--kernel", help="Only this kernel: fast, ...")]
Pattern = Annotated[str, typer.Option("-p", "--pattern", help="Regular expression on case ids.")]
Format = Annotated[Literal["table", "csv", "json"], typer.Option(help="Form of the output.")]
Record = Annotated[Path | None, typer.Option("--json", help="Write the record of the run here.")]

Row = Mapping[str, Any]


@app.command("test")
def run_cases(
    op: Op = "",
    backend: Device = "",
    kernel: KernelName = "",
    pattern: Pattern = "",
    format: Format = "table",
    json_path: Record = None,
) -> None:
    """Hold kernels against the definitions; exit code 1 when one fails."""
    if json_path is not None:
        record.check_writable(json_path)
    results = list(run(_matching(table(op, backend, kernel, pattern))))
    failed = [(e, r) for e, r in results if r.outcome is Outcome.FAIL]
    counted = _counted(results)
    if json_path is not None:
        found = {"kernels": counted, "failed": [_result(*one) for one in failed]}
        record.write(json_path, "ops_test", found, settings=_devices(e for e, _ in results))
    if format == "table":
        for entry, result in failed:
            typer.echo("\n  ".join([f"FAIL {entry.id}", *result.notes]))
        _print(counted, format)
    else:
        _print([_result(entry, result) for entry, result in results], format)
    if failed:
        raise typer.Exit(1)


@app.command()
def perf(
    op: Op = "",
    backend: Device = "cpu",
    kernel: KernelName = "",
    pattern: Pattern = "",
    format: Format = "table",
    budget: Annotated[float, typer.Option(help="Seconds a case.")] = 0.5,
    reference: Annotated[bool, typer.Option(help="Time definitions as well.")] = False,
    json_path: Record = None,
) -> None:
    """Time kernels on larger cases: milliseconds, GFLOP/s and GB/s.

    On a device the times are its own, of replays of a graph on arguments out of its caches;
    elsewhere they are the clock's.
    """
    options.check_positive({"--budget": budget})
    if json_path is not None:
        record.check_writable(json_path)
    found: list[Row] = []
    refused: dict[str, str] = {}
    entries = _matching(table(op, backend, kernel, pattern, cases=perf_cases))
    for entry in entries:
        rt = runtime_of(entry.device)
        if isinstance(rt, str):
            refused[entry.device] = rt
            continue
        if entry.kernel.endswith("reference") and not (reference or kernel):
            continue
        try:
            timed = measure(rt, entry.kernel or None, entry.case, budget)
        except Unsupported as refusal:
            refused[entry.id] = str(refusal)
            continue
        found.append(
            {
                "backend": entry.device,
                "kernel": entry.kernel,
                "case": entry.case.id,
                "ms": float(f"{timed.milliseconds:.4g}"),
                "GFLOP/s": float(f"{timed.gflops:.3g}"),
                "GB/s": float(f"{timed.gbytes:.3g}"),
                "launches": timed.launches,
            }
        )
    lines = [f"{what}: {why}" for what, why in refused.items()]
    if not found:
        raise InputError("\n  ".join(["nothing was timed", *(lines or ["give --reference"])]))
    for line in lines:
        typer.echo(line, err=True)
    if json_path is not None:
        timings = {"timed": found, "not timed": refused}
        record.write(json_path, "ops_perf", timings, settings=_devices(entries))
    _print(found, format)


@app.command("list")
def list_ops(
    op: Op = "",
    pattern: Pattern = "",
    format: Format = "table",
    cases: Annotated[bool, typer.Option(help="The ids of the cases.")] = False,
) -> None:
    """List ops, or their cases."""
    ops = named("op", op, list(specs()))
    if cases:
        listed = {e.case.id: e.case.op for e in table(op, pattern=pattern)}
        _print([{"op": name, "case": case} for case, name in listed.items()], format)
        return
    _print(
        [
            {
                "op": name,
                "tier": specs()[name].tier,
                "cases": len(cases_of(name)),
                "kernels": " ".join(
                    kernel
                    for device in discover.found()
                    for kernel in kernel_names(device, name)
                    if kernel
                ),
            }
            for name in ops
        ],
        format,
    )


@app.command()
def support(
    backend: Device = "",
    format: Format = "table",
    write_files: Annotated[
        bool, typer.Option("--write", help="Write a CSV a backend and the README's matrix.")
    ] = False,
    docs: Annotated[Path, typer.Option(help="Folder of the CSV files.")] = Path("docs/ops"),
    readme: Annotated[Path, typer.Option(help="File with the matrix.")] = Path("README.md"),
) -> None:
    """Show which kernels each op has on each backend, and why it has none."""
    devices = named("backend", backend, list(discover.found()))
    if write_files:
        if backend:
            raise InputError("--write writes all backends: leave -b away")
        try:
            written = write(list(discover.BUILT_IN), docs, readme)
        except OSError as error:
            raise InputError(f"the support matrix cannot be written: {error}") from error
        for path in written:
            typer.echo(f"wrote {path}", err=True)
    if format == "table":
        typer.echo(markdown(devices))
    else:
        _print([{"backend": d, **row} for d in devices for row in rows(d)], format)


def _matching(entries: Sequence[Entry]) -> Sequence[Entry]:
    if not entries:
        raise InputError("no case matches; `xgr ops list --cases` shows them")
    return entries


def _result(entry: Entry, result: Result) -> Row:
    notes = "; ".join(result.notes)
    key = {"backend": entry.device, "kernel": entry.kernel, "case": entry.case.id}
    return {**key, "outcome": str(result.outcome), "notes": notes}


def _devices(entries: Iterable[Entry]) -> Mapping[str, str]:
    """What each backend runs on."""
    runtimes = {device: runtime_of(device) for device in sorted({e.device for e in entries})}
    return {
        device: rt if isinstance(rt, str) else rt.backend.probe().summary
        for device, rt in runtimes.items()
    }


def _counted(results: Iterable[tuple[Entry, Result]]) -> Sequence[Row]:
    counts: dict[tuple[str, str, str], Counter[Outcome]] = {}
    for entry, result in results:
        key = entry.device, entry.kernel, entry.case.op
        counts.setdefault(key, Counter())[result.outcome] += 1
    names = ("backend", "kernel", "op")
    return [
        dict(zip(names, key, strict=True)) | {str(o): count[o] for o in Outcome}
        for key, count in counts.items()
    ]


def _print(found: Sequence[Row], format: str) -> None:
    """Rows of equal keys as JSON, as CSV, or as a table, which is plain when not on a terminal."""
    if format == "json":
        typer.echo(json.dumps(list(found), indent=1))
        return
    if not found:
        return
    columns = list(found[0])
    if format == "csv":
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    else:
        print_table(columns, [[row[c] for c in columns] for row in found])

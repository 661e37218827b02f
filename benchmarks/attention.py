"""Staged attention on a GPU beside its floor and its peers, in one run.

One layer, one decode step, bfloat16: the 72 batches of 1, 4 and 16 requests, 128 to 512 beams and
prompts of 256 to 8192 tokens, with three own tokens a beam. Every column is held to float32 on some
rows before it is timed. Ragged batches are compared with even ones of the same work, other models
are timed beside their floors, and a sweep times every configuration of every kernel beside the one
that the dispatch rule takes.

    python -m benchmarks.attention --peers flashinfer --json benchmarks/results/attention.json
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.gpu import even, flashinfer, ours, probe
from benchmarks.gpu.ahead import compile_ahead
from benchmarks.gpu.floor import Ceilings, geomean
from benchmarks.gpu.staged import OWN, Batch, Inputs, grid, others, ragged, representative
from benchmarks.gpu.sweep import sweep
from benchmarks.gpu.timing import Call, device_settings, graph_us, measure_ceilings, set_count
from xgr.bench import record
from xgr.cli.output import print_table


@dataclass(frozen=True, slots=True)
class Row:
    """A batch and the microseconds of each column, with the variant that took them."""

    batch: Batch
    us: Mapping[str, float]
    variants: Mapping[str, str] = field(default_factory=dict)

    def over_floor(self, column: str) -> float:
        """Ratio of a column's time to the floor."""
        return self.us[column] / self.batch.work.floor_us()


def main() -> None:
    args = parse()
    batches = select(args)
    start = time.perf_counter()
    ceilings = measure_ceilings()
    settings = device_settings(ceilings) | {"own_tokens": OWN}
    if args.sweep:
        results = sweep(batches)
    elif args.ragged:
        compile_ahead(launch_once, [(x, None, ()) for b in batches for x in (b, b.even())])
        results = even.compare(batches)
    else:
        folders = (None, args.probe) if args.probe else (None,)
        names = tuple(args.kernel)
        compile_ahead(launch_once, [(b, folder, names) for b in batches for folder in folders])
        print(f"compiled after {time.perf_counter() - start:.0f} s", flush=True)
        results = compare(batches, args, ceilings)
    print(f"{time.perf_counter() - start:.0f} s in all")
    if args.json:
        if "flashinfer" in args.peers:
            settings |= flashinfer.settings()
        record.write(args.json, "attention", results, settings=settings)


def compare(
    batches: Sequence[Batch], args: argparse.Namespace, ceilings: Ceilings
) -> dict[str, Any]:
    """Time every column on every batch."""
    rows: list[Row] = []
    try:
        for batch in batches:
            rows.append(time_batch(batch, args))
            torch.cuda.empty_cache()
    except KeyboardInterrupt:
        print(f"interrupted: {len(rows)} of {len(batches)} batches are recorded")
    columns = list(dict.fromkeys(name for row in rows for name in row.us))
    print_table(
        ("batch", "floor us", *columns),
        [
            (str(row.batch), _floor(row.batch), *(_cell(row, name) for name in columns))
            for row in rows
        ],
    )
    summary = summarise(rows)
    for line in summary.items():
        print("{}: {:.2f}".format(*line))
    return {"summary": summary, "batches": [_recorded(row, ceilings) for row in rows]}


def time_batch(batch: Batch, args: argparse.Namespace) -> Row:
    """The fastest variant of every column."""
    us: dict[str, float] = {}
    variants: dict[str, str] = {}
    sets = [Inputs(batch) for _ in range(set_count(batch.work.bytes))]
    for column, variant, calls in columns_of(batch, sets, args):
        sets[0].out.fill_(float("nan"))
        sets[0].check(f"{column} ({variant})", calls[0]())
        taken = graph_us(calls)
        if taken < us.get(column, float("inf")):
            us[column], variants[column] = taken, variant
    return Row(batch, us, variants)


def columns_of(
    batch: Batch, sets: Sequence[Inputs], args: argparse.Namespace
) -> Iterator[tuple[str, str, Sequence[Call]]]:
    """Column, variant and the call on each set."""
    problem = ours.problem(batch)
    chosen = ours.device().choose(problem.op, problem).name
    yield "xgr", chosen, ours.calls(batch, sets)
    for name in args.kernel:
        yield name, name, ours.calls(batch, sets, name)
    if args.probe:
        yield from probe.columns(_probe(args.probe), batch, sets)
    if "flashinfer" in args.peers:
        yield from flashinfer.columns(batch, sets)


def summarise(rows: Sequence[Row]) -> dict[str, float]:
    """Geometric means: ratios to the floor, by number of requests too, and times over xgr's."""
    found: dict[str, float] = {}
    columns = list(dict.fromkeys(name for row in rows for name in row.us))
    for name in columns:
        by_requests: dict[int, list[float]] = defaultdict(list)
        for row in rows:
            by_requests[len(row.batch.widths)].append(row.over_floor(name))
        found[f"{name} / floor"] = geomean(x for ratios in by_requests.values() for x in ratios)
        for requests, ratios in sorted(by_requests.items()):
            found[f"{name} / floor, B {requests}"] = geomean(ratios)
    for name in columns[1:]:
        found[f"{name} / xgr"] = geomean(row.us[name] / row.us["xgr"] for row in rows)
    return found


def _floor(batch: Batch) -> str:
    return f"{batch.work.floor_us():.1f}{batch.work.bound()}"


def _cell(row: Row, name: str) -> str:
    shown = f"{row.us[name]:.1f} ({row.over_floor(name):.2f}x)"
    return f"{shown} {row.variants[name]}" if name == "probe" else shown


def _recorded(row: Row, ceilings: Ceilings) -> dict[str, Any]:
    batch = row.batch
    return {
        "heads": f"{batch.heads}/{batch.groups}",
        "d": batch.size,
        "dtype": batch.dtype,
        "B": len(batch.widths),
        "BW": batch.widths[0],
        "L": batch.lengths[0],
        "bytes": batch.work.bytes,
        "flop": batch.work.flops,
        "floor_us": batch.work.floor_us(),
        "floor_us_by_measured_ceilings": batch.work.floor_us(ceilings),
        "us": dict(row.us),
        "variants": dict(row.variants),
    }


def launch_once(job: tuple[Batch, Path | None, Sequence[str]]) -> None:
    """Compile what a batch needs: xgr's kernels, or the probe's in a folder."""
    batch, folder, names = job
    one = Inputs(batch, filled=False)
    if folder is None:
        for name in (None, *names):
            ours.calls(batch, [one], name)[0]()
    else:
        for _, _, calls in probe.columns(_probe(folder), batch, [one]):
            calls[0]()
    torch.cuda.synchronize()


@cache
def _probe(folder: Path) -> Any:
    return probe.load(folder)


def select(args: argparse.Namespace) -> Sequence[Batch]:
    """The batches that are asked for."""
    sets = {"ragged": ragged, "models": others, "sweep": representative}
    batches = next((made() for name, made in sets.items() if getattr(args, name)), grid())
    taken = [one for one in batches if re.search(args.only, str(one))][: args.batches]
    if not taken:
        shown = ", ".join(map(str, batches[:3]))
        raise SystemExit(f"--only {args.only!r} matches no batch; they are named {shown}, ...")
    return taken


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; peers that are not here are left out, and said to be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--ragged", action="store_true", help="ragged batches beside even ones")
    mode.add_argument("--models", action="store_true", help="other heads, sizes, float16; no peers")
    mode.add_argument("--sweep", action="store_true", help="every configuration of every kernel")
    parser.add_argument("--peers", nargs="*", default=[], choices=["flashinfer"])
    parser.add_argument("--probe", type=Path, help="folder with kernels.py, plain Triton kernels")
    parser.add_argument("--kernel", action="append", default=[], help="time this kernel as well")
    parser.add_argument("--only", default="", help="regular expression on batches")
    parser.add_argument("--batches", type=int, help="only the first so many")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args(words)
    if args.models and (args.peers or args.probe):
        parser.error("--models has no peers: --peers and --probe are of heads of 128 in bfloat16")
    args.peers = flashinfer.present(args.peers)
    return args


if __name__ == "__main__":
    run_main(main)

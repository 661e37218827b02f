"""Catalogue at size: build time, peak memory over the input, load time, bytes an item.

Every size is built from random D x K SIDs in a fresh process; its peak is the kernel's high-water
mark of resident memory, reset when the input is in place. Loading is timed in another fresh
process, with the files still in the page cache. Look-ups are checked against the input.

    python -m benchmarks.catalog --items 1000000 10000000 --json benchmarks/results/catalog.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._command import run_main, writable
from xgr.bench import record
from xgr.catalog import Catalogue

HISTORY = 512
MILLION = 1_000_000


def main() -> None:
    args = _arguments()
    if args.stage:
        print(json.dumps(_STAGES[args.stage](args)))
        return
    results = []
    for items in args.items:
        with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
            folder = str(Path(scratch) / "catalogue")
            result = _fresh(args, "build", items, folder) | _fresh(args, "load", items, folder)
        results.append(result)
        print(_line(result), flush=True)
    if args.json:
        settings = {"levels": args.levels, "codes": args.codes, "seed": args.seed}
        record.write(args.json, "catalog", results, settings=settings)


def build(args: argparse.Namespace) -> dict[str, Any]:
    """Build in memory and save, or straight into files with --to-disk."""
    sids = _random_sids(args)
    before = _reset_peak()
    start = time.perf_counter()
    catalogue = Catalogue.from_sids(sids, out=args.folder if args.to_disk else None)
    built = time.perf_counter()
    peak = record.peak_rss_bytes() - before
    if not args.to_disk:
        catalogue.save(args.folder)
    saved = time.perf_counter()
    _check(catalogue, sids)
    return {
        "items": catalogue.num_items,
        "sids": catalogue.num_sids,
        "nodes": [len(level) for level in catalogue.levels],
        "to_disk": args.to_disk,
        "build_s": round(built - start, 3),
        "save_s": None if args.to_disk else round(saved - built, 3),
        "input_bytes": sids.nbytes,
        "peak_over_input_bytes": peak,
        "bytes": catalogue.nbytes,
        "bytes_per_item": round(catalogue.nbytes / catalogue.num_items, 2),
    }


def load(args: argparse.Namespace) -> dict[str, Any]:
    """Open the saved catalogue, then what a request asks of it."""
    before = _reset_peak()
    start = time.perf_counter()
    catalogue = Catalogue.load(args.folder)
    loaded = time.perf_counter() - start
    grown = record.peak_rss_bytes() - before
    rng = np.random.default_rng(args.seed)
    seen = rng.integers(0, catalogue.num_items, HISTORY).tolist()
    leaves = rng.integers(0, catalogue.num_sids, HISTORY)
    start = time.perf_counter()
    catalogue.register_filter("third", exclude=np.arange(0, catalogue.num_items, 3))
    registered = time.perf_counter() - start
    some = catalogue.filter(exclude=seen, named=["third"])
    codes = catalogue.codes(leaves)
    return {
        "load_ms": round(loaded * 1e3, 3),
        "load_rss_bytes": grown,
        "register_filter_s": round(registered, 3),
        f"request_us_{HISTORY}_ids": {
            "positions": _microseconds(lambda: catalogue.positions(seen)),
            "filter_exclude": _microseconds(lambda: catalogue.filter(exclude=seen)),
            "filter_exclude_and_named": _microseconds(
                lambda: catalogue.filter(exclude=seen, named=["third"])
            ),
            "filter_allow": _microseconds(lambda: catalogue.filter(allow=seen)),
            "find": _microseconds(lambda: catalogue.find(codes)),
            "codes": _microseconds(lambda: catalogue.codes(leaves)),
            "expand_filtered": _microseconds(
                lambda: catalogue.expand(leaves, 100, per_sid=1, request_filter=some)
            ),
        },
    }


_STAGES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {"build": build, "load": load}


def _fresh(args: argparse.Namespace, stage: str, items: int, folder: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "benchmarks.catalog", "--stage", stage]
    words += ["--items", str(items), "--folder", folder, "--seed", str(args.seed)]
    words += ["--levels", str(args.levels), "--codes", str(args.codes)]
    if args.to_disk:
        words.append("--to-disk")
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _random_sids(args: argparse.Namespace) -> npt.NDArray[np.int32]:
    rng = np.random.default_rng(args.seed)
    sids = np.empty((args.items[0], args.levels), dtype=np.int32)
    for base in range(0, len(sids), MILLION):
        part = sids[base : base + MILLION]
        part[:] = rng.integers(0, args.codes, part.shape, dtype=np.int32)
    return sids


def _check(catalogue: Catalogue, sids: npt.NDArray[np.int32]) -> None:
    rows = np.random.default_rng(1).integers(0, len(sids), 1000)
    leaves = catalogue.find(sids[rows])
    for row, leaf in zip(rows.tolist(), leaves.tolist(), strict=True):
        items = [catalogue.item_id(at) for at in catalogue.item_positions(leaf)]
        if row not in items or items != sorted(items):
            raise SystemExit(f"row {row} is not among the items of its SID: {items}")


def _reset_peak() -> int:
    # 5 resets VmHWM to what is resident now (Linux).
    Path("/proc/self/clear_refs").write_text("5")
    return record.peak_rss_bytes()


def _microseconds(call: Callable[[], object], repeats: int = 30) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return round(sorted(times)[repeats // 2] * 1e6, 1)


def _line(result: dict[str, Any]) -> str:
    return (
        f"{result['items']:>11,} items  build {result['build_s']:.2f} s  peak over input "
        f"{result['peak_over_input_bytes'] / 1e9:.2f} GB  load {result['load_ms']:.1f} ms  "
        f"{result['bytes_per_item']:.1f} bytes an item"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=int, nargs="+", default=[MILLION, 10 * MILLION])
    parser.add_argument("--levels", type=int, default=3)
    parser.add_argument("--codes", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to-disk", action="store_true", help="build straight into files")
    parser.add_argument("--json", type=writable, help="where to write the record")
    parser.add_argument("--scratch", type=Path, help="folder for the saved catalogues")
    parser.add_argument("--stage", choices=("build", "load"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)

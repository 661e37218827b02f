r"""Share of beams that are no item when the search is not constrained (figure 5 of the paper).

Searches the whole vocabulary at several beam widths with a trained checkpoint, with the same
architecture and random weights, and with an early checkpoint of the demo model.

    python examples/train_demo.py --out OUT --early-out EARLY
    python -m benchmarks.invalid_share --early EARLY/model \
        --json benchmarks/results/invalid_share.json
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks._command import run_main, writable
from tests.data import shared
from xgr import Recommender
from xgr.bench import record
from xgr.engine.evaluate import evaluate, read_histories

GAMES = "data/genrec_mimi/Games/Games"


def main() -> None:
    args = _arguments()
    games = (shared(f"{GAMES}.index.json"), shared(f"{GAMES}.inter.json"))
    demo = Path(str(files("xgr.demo")))
    results: dict[str, Any] = {}

    trained = shared("models/games-qwen3-6m")
    results["games checkpoint"] = _shares(args, trained, *games)
    with _random_weights(trained) as folder:
        results["games architecture, random weights"] = _shares(args, folder, *games)
    shop = (demo / "items.jsonl", demo / "histories.json")
    results["demo model"] = _shares(args, demo / "model", *shop)
    if args.early:
        results["demo model, early checkpoint"] = _shares(args, args.early, *shop)
    print(json.dumps(results, indent=2))
    if args.json:
        settings = {"users": args.users, "widths": args.widths, "max_items": args.max_items}
        record.write(args.json, "invalid_share", results, settings=settings)


def _shares(
    args: argparse.Namespace, model: Path, catalog: Path, histories: Path
) -> dict[str, Any]:
    recommender = Recommender.from_pretrained(
        model, catalog, constrained=False, max_items=args.max_items
    )
    everyone = read_histories(histories)
    # spread over the file: its first users are not like the others
    step = max(1, len(everyone) // args.users)
    users = dict(islice(everyone.items(), 0, args.users * step, step))
    shares = {}
    for width in args.widths:
        found = evaluate(recommender, users, beam_width=width)
        shares[f"W {width}"] = found.invalid / found.beams
    return shares


@contextmanager
def _random_weights(model: Path) -> Iterator[Path]:
    """The checkpoint with every matrix drawn from N(0, 0.02), as before training."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "random-weights"
        shutil.copytree(model, folder)
        weights = load_file(folder / "model.safetensors")
        fresh = {
            name: (rng.standard_normal(w.shape) * 0.02).astype(w.dtype) if w.ndim > 1 else w
            for name, w in weights.items()
        }
        save_file(fresh, folder / "model.safetensors", metadata={"format": "pt"})
        yield folder


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--early", type=Path, help="early checkpoint of the demo model")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--widths", type=int, nargs="+", default=[50, 128, 512])
    parser.add_argument("--max-items", type=int, default=50)
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)

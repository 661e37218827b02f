"""The same users of the Games checkpoint on the GPU and on the CPU: how far results agree.

float32 (TF32 off) and bfloat16, K/V by ancestors and by reorder; the CPU computes in float32. Speed
is of one run of all users at once, and claims nothing.

    python -m benchmarks.cuda_parity --users 500 --json benchmarks/results/cuda_parity.json
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks._command import run_main, writable
from tests.data import shared
from xgr import Recommender, runtime
from xgr.bench import record
from xgr.engine import Recommendations
from xgr.engine.evaluate import read_histories

GAMES = "data/genrec_mimi/Games/Games"


def main() -> None:
    args = _arguments()
    rt = runtime("cuda")  # or none of it: the CPU's part takes minutes
    prompts, targets, where = games(args.users)
    cpu = Recommender.from_pretrained(*where, max_items=50)
    want = cpu.recommend(prompts, 10, args.beam_width)
    results: dict[str, Any] = {"cpu float32": {"hits": hits(want, targets)}}
    for dtype in ("float32", "bfloat16"):
        for kv_mode in ("ancestors", "reorder"):
            gpu = Recommender.from_pretrained(
                *where, device="cuda", dtype=dtype, max_items=50, kv_mode=kv_mode
            )
            gpu.recommend(prompts, 10, args.beam_width)  # captures the graphs
            start = time.perf_counter()
            got = gpu.recommend(prompts, 10, args.beam_width)
            seconds = time.perf_counter() - start
            found = {**compare(want, got), "hits": hits(got, targets)}
            results[f"cuda {dtype} {kv_mode}"] = {**found, "users_per_s": len(got) / seconds}
            print(f"{dtype} {kv_mode}: {json.dumps(found)}", flush=True)
    if args.json:
        settings = {
            "users": len(prompts),
            "beam_width": args.beam_width,
            "device": rt.backend.probe().summary,
        }
        record.write(args.json, "cuda_parity", results, settings=settings)


def games(users: int) -> tuple[list[Sequence[Any]], list[Any], tuple[Path, Path]]:
    """Histories without their last items, these, and where checkpoint and catalogue lie."""
    histories = islice(read_histories(shared(f"{GAMES}.inter.json")).values(), users)
    whole = [list(items) for items in histories]
    where = (shared("models/games-qwen3-6m"), shared(f"{GAMES}.index.json"))
    return [items[:-1] for items in whole], [items[-1] for items in whole], where


def compare(want: Sequence[Recommendations], got: Sequence[Recommendations]) -> dict[str, Any]:
    """Mean share of the CPU's top 10 found, equal lists, score differences in common."""
    shares, equal, differences = [], 0, [0.0]
    for a, b in zip(want, got, strict=True):
        ours = {item.item_id: item.score for item in b}
        common = [(item.score, ours[item.item_id]) for item in a if item.item_id in ours]
        shares.append(len(common) / len(a))
        equal += [item.item_id for item in a] == [item.item_id for item in b]
        differences += [abs(x - y) for x, y in common]
    return {
        "overlap@10": sum(shares) / len(shares),
        "equal_lists": equal,
        "max_score_difference": max(differences),
        "rms_score_difference": math.hypot(*differences) / math.sqrt(len(differences)),
    }


def hits(found: Sequence[Recommendations], targets: Sequence[Any]) -> int:
    """Users whose target is in their list."""
    return sum(
        str(target) in {str(item.item_id) for item in own}
        for own, target in zip(found, targets, strict=True)
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--beam-width", type=int, default=50)
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)

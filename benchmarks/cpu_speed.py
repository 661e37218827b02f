"""xgr and HF transformers on the same users, CPU and run: users/s of each and their ratio.

The peer is benchmarks/hf_oracle.py, one user at a time (as a request comes), once with the
library's own cache expanded to the beams and once with hand-written cache buffers. xgr serves the
same users through `Recommender.recommend`, all at once (its batches and lanes, as `xgr evaluate`)
and one at a time. Chunks of users alternate between the four, so that the machine's mood is shared.

    python -m benchmarks.cpu_speed --users 0:400 --json benchmarks/results/cpu_speed.json
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.hf_oracle import Search
from tests.data import shared
from tests.oracle.games import parse_slice, read_games
from xgr import Recommender
from xgr.bench import record

GAMES = "data/genrec_mimi/Games/Games"


def main() -> None:
    args = _arguments()
    torch.set_num_threads(os.cpu_count() or 1)
    games = read_games(args.model, args.index, args.inter)
    users = games.users[parse_slice(args.users)]
    serve = _contenders(args, games)
    seconds = dict.fromkeys(serve, 0.0)
    warm = [history for _, history in users[: args.chunk]]
    for run in serve.values():
        run(warm)
    for begin in range(0, len(users), args.chunk):
        chunk = [history for _, history in users[begin : begin + args.chunk]]
        for name, run in serve.items():
            start = time.perf_counter()
            run(chunk)
            seconds[name] += time.perf_counter() - start
    rate = {name: len(users) / spent for name, spent in seconds.items()}
    results = {
        "users": len(users),
        "users_per_s": rate,
        "xgr_over_hf": rate["xgr"] / rate["hf"],
        "xgr_over_hf_fixed_cache": rate["xgr"] / rate["hf_fixed_cache"],
        "xgr_one_at_a_time_over_hf": rate["xgr_one_at_a_time"] / rate["hf"],
    }
    print(json.dumps(results, indent=2))
    if args.json:
        settings = {"beam_width": args.beam_width, "max_items": args.max_items}
        record.write(args.json, "cpu_speed", results, settings=settings)


def _contenders(args: argparse.Namespace, games: Any) -> dict[str, Callable[[Any], None]]:
    recommender = Recommender.from_pretrained(args.model, args.index, max_items=args.max_items)
    peers = {}
    for name, cache in (("hf", "dynamic"), ("hf_fixed_cache", "fixed")):
        own = argparse.Namespace(**{**vars(args), "cache": cache})
        peers[name] = Search(args.model, games, own)

    def peer(search: Search) -> Callable[[Any], None]:
        def run(histories: Any) -> None:
            for history in histories:
                search(history)

        return run

    def together(histories: Any) -> None:
        recommender.recommend([h[:-1] for h in histories], args.k, args.beam_width)

    def alone(histories: Any) -> None:
        for history in histories:
            recommender.recommend([history[:-1]], args.k, args.beam_width)

    return {
        "xgr": together,
        "xgr_one_at_a_time": alone,
        **{name: peer(search) for name, search in peers.items()},
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, default=shared("models/games-qwen3-6m"))
    parser.add_argument("--index", type=Path, default=shared(f"{GAMES}.index.json"))
    parser.add_argument("--inter", type=Path, default=shared(f"{GAMES}.inter.json"))
    parser.add_argument("--users", default="0:400", help="slice A:B in file order")
    parser.add_argument("--chunk", type=int, default=100)
    parser.add_argument("--max-items", type=int, default=50)
    parser.add_argument("--beam-width", type=int, default=50)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)

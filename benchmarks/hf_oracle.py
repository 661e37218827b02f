"""The peer in the speed ratio: a hand-written constrained beam search over HF transformers.

One user at a time, as an online request comes: the prompt is prefilled once with the head on its
last position only, its cache is written once into buffers for all beams and only the tokens after
the prompt follow their parents, the legal children of all beams are taken at once from a trie in
tensors. float32, as many threads as cores. `--cache dynamic` uses the library's own cache instead.

    python -m benchmarks.hf_oracle --users 0:1000 --dump lists.json --json record.json
"""

from __future__ import annotations

import argparse
import json
import os
import time
from math import isfinite
from pathlib import Path
from typing import Any

import torch

from benchmarks._command import run_main, writable
from tests.data import shared
from tests.oracle.beam import Found, beam_search, load
from tests.oracle.games import Games, metrics, parse_slice, rank_of, read_games
from tests.oracle.kv import CacheMaker, DynamicBeams, FixedBeams
from tests.oracle.trie import Trie
from xgr.bench import record

WARM_UP = 5


def main() -> None:
    args = _arguments()
    torch.set_num_threads(args.threads)
    games = read_games(args.model, args.index, args.inter)
    users = games.users[parse_slice(args.users)]
    search = Search(args.model, games, args)
    for _, history in games.users[:WARM_UP]:
        search(history)
    rows, ranks, seconds = [], [], 0.0
    for user, history in users:
        begin = time.perf_counter()
        found = search(history)
        sids = [sid for sid, _ in found.results]
        item_ids = games.expand(sids)
        seconds += time.perf_counter() - begin
        ranks.append(rank_of(history[-1], item_ids, args.k))
        rows.append(
            {
                "user": user,
                "token_ids": [list(sid) for sid in sids],
                "scores": [score for _, score in found.results],
                "item_ids": item_ids,
                "cut_gaps": [gap if isfinite(gap) else None for gap in found.cut_gaps],
            }
        )
    results = {
        "users": len(rows),
        **metrics(ranks, args.k),
        "users_per_second": len(rows) / seconds,
        "seconds": seconds,
        "peak_rss_bytes": record.peak_rss_bytes(),
    }
    print(json.dumps(results, indent=2))
    if args.dump:
        record.write_text(args.dump, json.dumps({"rows": rows, **results}, allow_nan=False))
    if args.json:
        record.write(args.json, "hf_oracle", results, settings=vars(args))


class Search:
    """The oracle with its model, trie and buffers kept from one request to the next."""

    def __init__(self, model_dir: Path, games: Games, args: argparse.Namespace) -> None:
        self._model: Any = load(model_dir)
        self._trie = Trie(games.items)
        self._games, self._width, self._max_items = games, args.beam_width, args.max_items
        self._cache: CacheMaker = FixedBeams() if args.cache == "fixed" else DynamicBeams

    def __call__(self, history: list[int]) -> Found:
        """The SIDs for a history whose last item is the target."""
        prompt = self._games.prompt(history, self._max_items)
        return beam_search(self._model, prompt, self._trie, self._width, beam_cache=self._cache)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    data = "data/genrec_mimi/Games/Games"
    parser.add_argument("--model", type=Path, default=shared("models/games-qwen3-6m"))
    parser.add_argument("--index", type=Path, default=shared(f"{data}.index.json"))
    parser.add_argument("--inter", type=Path, default=shared(f"{data}.inter.json"))
    parser.add_argument("--users", default="0:1000", help="slice A:B in file order")
    parser.add_argument("--max-items", type=int, default=50)
    parser.add_argument("--beam-width", type=int, default=50)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--cache", choices=("fixed", "dynamic"), default="fixed")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--dump", type=writable, help="write every user's SIDs, scores and items")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)

"""Share of the legal candidates that early termination visits, level by level.

Every beam step of real searches on the Games checkpoint is served twice: by the engine's own kernel
and by mask_filter + beam_sort, whose early termination counts what it visits. The survivors must be
the same.

    python -m benchmarks.early_termination --json benchmarks/results/early_termination.json
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from itertools import islice
from typing import Any

import numpy as np

from benchmarks._command import run_main, writable
from tests.data import shared
from xgr import Problem, Recommender
from xgr.bench import record
from xgr.engine.evaluate import read_histories
from xgr.registry import Context, Kernel, Launcher

GAMES = "data/genrec_mimi/Games/Games"


class Counted:
    """A beam_step kernel that checks the fast one against mask_filter + beam_sort, and counts."""

    def __init__(self, recommender: Recommender) -> None:
        self._rt = recommender.engine.rt
        self.visited: dict[int, int] = defaultdict(int)
        self.candidates: dict[int, int] = defaultdict(int)

    def build(self, problem: Problem, context: Context) -> Launcher:
        """The kernel's factory."""
        fast = self._rt.bind("beam_step", problem, "cpu_ref.fast")

        def launch(**arguments: Any) -> None:
            fast(**arguments)
            self._count(arguments)

        return launch

    def _count(self, a: dict[str, Any]) -> None:
        level = a["level"]
        scores = np.asarray(a["logits"], np.float32) - a["lse"][:, None]
        legal = np.empty_like(scores)
        rows = {name: a[name] for name in ("row_start", "live")}
        self._rt.mask_filter(
            scores=scores, node=a["node"], trie=a["trie"], level=level, out=legal, **rows
        )
        names = ("row_start_out", "out_width", "order", "parent", "code", "cumulative", "live_out")
        sort = {name: a[name] for name in names}
        out = {name: np.empty_like(a[name]) for name in ("parent", "code", "live_out")}
        given = {
            **sort,
            **out,
            "scores": legal,
            "score": np.empty_like(a["cumulative_out"]),
            **rows,
        }
        bound: Any = self._rt.bind("beam_sort", self._rt.problem("beam_sort", **given))
        counter = bound.func
        counter.reset()
        bound(**given)
        for name, found in out.items():
            assert np.array_equal(found, a[name]), f"level {level}: {name} differs"
        self.visited[level] += counter.visited
        self.candidates[level] += counter.candidates


def main() -> None:
    args = _arguments()
    users = dict(islice(read_histories(shared(f"{GAMES}.inter.json")).items(), args.users))
    recommender = Recommender.from_pretrained(
        shared("models/games-qwen3-6m"), shared(f"{GAMES}.index.json"), max_items=50, lanes=1
    )
    counted = Counted(recommender)
    recommender.engine.rt.register(Kernel("beam_step", "counted", counted.build, priority=99))
    results = {}
    for width in args.widths:
        counted.visited.clear()
        counted.candidates.clear()
        recommender.recommend([items[:-1] for items in users.values()], 10, width)
        levels = {
            f"level {level}": {
                "visited": counted.visited[level],
                "candidates": total,
                "share": counted.visited[level] / total,
            }
            for level, total in sorted(counted.candidates.items())
        }
        share = sum(counted.visited.values()) / sum(counted.candidates.values())
        results[f"W {width}"] = {**levels, "share": share}
        print(f"W {width}: {share:.3f} of the candidates visited", json.dumps(levels), flush=True)
    if args.json:
        record.write(args.json, "early_termination", results, settings={"users": args.users})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--widths", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)

"""Levels in a row whose width grows: all beams differ, and each one's K/V are its own path's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xgr
from xgr.ops.tries import random_sids, trie_of

RT = xgr.runtime("cpu")
SIZES = (20, 20, 20)
Values = dict[str, Any]


class Search:
    """Two requests that decode three codes by ops alone; slot j of a row holds its code j."""

    def __init__(self, kernel: str, widths: list[int]) -> None:
        self.kernel, self.widths, self.rng = kernel, widths, np.random.default_rng(1)
        self.sids = random_sids(self.rng, SIZES, 20_000)
        self.trie = trie_of(self.sids, SIZES)
        self.room = max(widths)
        self.row_start = np.array([0, self.room, 2 * self.room], np.int32)
        rows = 2 * self.room
        self.k = np.full((2, rows, 3, 1, 1), -1, np.float32)  # moved
        self.still = self.k[0].copy()  # followed by ancestors
        self.ancestors = np.repeat(np.arange(rows, dtype=np.int32)[:, None], 3, axis=1)
        self.status = np.zeros(2, np.int32)
        self.found: Values = {
            "node_out": np.zeros(2, np.int32),
            "cumulative_out": np.zeros(2, np.float32),
            "live_out": np.ones(2, np.int32),
        }

    def step(self, level: int) -> None:
        """Choose codes, let the K/V of the codes before follow, write those of the new ones."""
        before, rows = self.found, len(self.found["node_out"])
        room = 2 * self.room
        self.found = {
            "parent": np.empty(room, np.int32),
            "code": np.empty(room, np.int32),
            "node_out": np.empty(room, np.int32),
            "cumulative_out": np.empty(room, np.float32),
            "live_out": np.empty(2, np.int32),
        }
        RT.beam_step(
            logits=self.rng.standard_normal((rows, SIZES[level]), np.float32),
            cumulative=before["cumulative_out"],
            node=before["node_out"],
            row_start=np.arange(3, dtype=np.int32) if level == 0 else self.row_start,
            live=before["live_out"],
            row_start_out=self.row_start,
            out_width=np.full(2, self.widths[level], np.int32),
            trie=self.trie,
            level=level,
            normalize="level",
            order="path",
            status=self.status,
            kernel=self.kernel,
            **self.found,
        )
        self.move(level)

    def move(self, level: int) -> None:
        batch: Values = {
            "parent": self.found["parent"],
            "row_start": self.row_start,
            "live": self.found["live_out"],
            "status": self.status,
            "step": level,
            "kernel": self.kernel,
        }
        if level:  # at level 0 parents are requests, and nothing has been written
            RT.kv_reorder(k=self.k, v=self.k.copy(), **batch)
            ancestors = np.empty_like(self.ancestors)
            RT.beam_ancestors(ancestors=self.ancestors, out=ancestors, **batch)
            self.ancestors = ancestors
        for first, count in zip(self.row_start, self.found["live_out"], strict=False):
            rows = slice(first, first + count)
            self.k[:, rows, level, 0, 0] = self.still[rows, level, 0, 0] = self.found["code"][rows]


@pytest.mark.parametrize("kernel", ["cpu_ref.reference", "cpu_ref.fast"])
@pytest.mark.parametrize(
    "widths", [[16, 32, 100], [6, 8, 128], [1, 31, 129], [20, 300, 7], [20, 33, 2500]]
)
def test_beams_are_distinct_and_their_tokens_are_their_own(kernel: str, widths: list[int]) -> None:
    search = Search(kernel, widths)
    before: list[set[tuple[int, ...]]] = [{()}, {()}]
    for level, width in enumerate(widths):
        search.step(level)
        paths = sorted({tuple(sid[: level + 1]) for sid in search.sids.tolist()})
        slots = range(level + 1)
        for request, (first, count) in enumerate(
            zip(search.row_start, search.found["live_out"], strict=False)
        ):
            rows = range(first, first + count)
            # the node that beam_step counts down to says which prefix a row is
            nodes = [paths[node] for node in search.found["node_out"][rows.start : rows.stop]]
            moved = [tuple(search.k[1, row, slots, 0, 0].astype(int)) for row in rows]
            assert moved == nodes
            held = [search.still[search.ancestors[row, slots], slots, 0, 0] for row in rows]
            assert [tuple(codes.astype(int)) for codes in held] == nodes
            assert len(set(nodes)) == count
            assert count == min(width, sum(path[:-1] in before[request] for path in paths))
            before[request] = set(nodes)
    assert not search.status.any()

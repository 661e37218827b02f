"""The paged baseline finds what the staged engine finds, and copies the blocks that it should."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.test_batches import assert_equal, make_requests, run
from tests.engine.test_null import counted, null_recommender, prepare
from tests.engine.test_poison import FORCED, poisoned
from tests.engine.world import World, beams, make_world
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.engine import EngineConfig, Request
from xgr.engine.paged import PagedBeams, PagedCache, own_blocks
from xgr.errors import InputError, ValueReadError
from xgr.ops.dtype import float32

__all__ = ["counted"]  # a fixture


@pytest.mark.parametrize("block_tokens", [1, 2, 5, 16])
def test_equals_staged(world: World, block_tokens: int) -> None:
    """Ragged prompts, widths that grow and shrink, filters; several requests in a batch."""
    requests = make_requests(world)
    paged = world.recommender(attention="paged", block_tokens=block_tokens, max_requests=5)
    staged = world.recommender(max_requests=5)
    for got, want in zip(run(paged, requests), run(staged, requests), strict=True):
        assert_equal(got, want)


@pytest.mark.parametrize("block_tokens", [1, 2, 3, 16])
def test_equals_staged_on_five_levels(tmp_path: Path, block_tokens: int) -> None:
    """Blocks of beams fill up and are shared by those that fork after."""
    draw = random.Random(1)
    sids = {n: tuple(draw.randrange(3) for _ in range(5)) for n in range(90)}
    world = make_world(tmp_path, codes=(3,) * 5, catalogue=sids)
    histories, widths = [[1, 2, 3], [4], list(range(20))], [2, 8, 5, 14, 9]
    paged = world.recommender(attention="paged", block_tokens=block_tokens)
    found = paged.recommend(histories, 60, widths)
    for got, want in zip(found, world.recommender().recommend(histories, 60, widths), strict=True):
        assert_equal(got, want)


@pytest.mark.parametrize("kernel", list(FORCED))
def test_unwritten_memory_is_not_read(
    world: World, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    monkeypatch.setenv("XGR_KERNEL", FORCED[kernel])
    options: dict[str, Any] = {"attention": "paged", "block_tokens": 4, "max_requests": 3}
    requests = make_requests(world)[:4]
    want = run(world.recommender(**options), requests)
    monkeypatch.setattr(CpuBackend, "empty", poisoned)
    assert [beams(one) for one in run(world.recommender(**options), requests)] == [
        beams(one) for one in want
    ]


def test_copies_on_write(world: World) -> None:
    """A parent's first child keeps its block, the others copy it; full blocks are shared."""
    tokens, width = 4, 12
    recommender = world.recommender(attention="paged", block_tokens=tokens)
    engine, catalogue = recommender.engine, recommender.store.current
    prompts = [world.prompt(history) for history in ([1], [1, 2], [3, 4, 5], list(range(9)))]
    batch = engine.launch(
        [engine.prepare(Request(prompt, width), catalogue) for prompt in prompts], catalogue
    )
    engine.collect(batch)
    kv, layout = batch.decode._kv, batch.layout
    assert isinstance(kv, PagedBeams)
    first, second = (np.asarray(table) for table in kv._tables)
    source, target = np.asarray(kv._source), np.asarray(kv._target)
    last = batch.decode.beams[1]
    assert {len(prompt) % tokens for prompt in prompts} >= {0, 2, 3}
    for b, prompt in enumerate(prompts):
        rows = slice(layout.row_start[b], layout.row_start[b] + int(np.asarray(last.live)[b]))
        full, start = len(prompt) // tokens, layout.prompt_start[b] // tokens
        column, within = divmod(len(prompt) + 1, tokens)
        assert (second[rows, :full] == start + np.arange(full)).all()
        written = second[rows, column]
        assert len(set(written)) == len(written), "every beam writes to a block of its own"
        assert not set(written) & set(range(start, start + full + 1)), "the prompt is kept"
        parents = np.asarray(last.parent)[rows]
        copies = len(parents) - len(set(parents)) if within else 0
        assert (target[rows] >= 0).sum() == copies
        assert set(source[rows][target[rows] >= 0]) <= set(first[parents, column])
        if column > len(prompt) // tokens:
            begun = second[rows, column - 1]
            assert (begun == first[parents, column - 1]).all(), "a full block goes by reference"


@pytest.mark.parametrize("filtered", [False, True])
def test_everything_is_launched_and_nothing_read(
    world: World, filtered: bool, counted: Counter[str]
) -> None:
    recommender = null_recommender(world, attention="paged")
    engine, catalogue = recommender.engine, recommender.store.current
    prepared = prepare(recommender, world, filtered)
    for _ in range(2):
        engine.launch(prepared, catalogue)
    counted.clear()
    batch = engine.launch(prepared, catalogue)
    assert not counted, "the second batch of a bucket asks for no memory"
    with pytest.raises(ValueReadError):
        engine.collect(batch)


def test_bytes_of_the_pool(world: World) -> None:
    engine = null_recommender(world).engine
    sizes = (engine.decoder.config, float32, 96, 10, 2, 16)
    before = engine.rt.memory().used
    kept = PagedCache(engine.rt, *sizes)
    assert engine.rt.memory().used - before == PagedCache.nbytes(*sizes)
    assert kept.pool_keys.shape[1] == 96 // 16 + 10 * own_blocks(2, 16)


@pytest.mark.parametrize(
    ("slots", "tokens", "blocks"), [(1, 1, 1), (2, 16, 2), (1, 16, 1), (2, 1, 2), (4, 3, 2)]
)
def test_blocks_behind_the_full_ones(slots: int, tokens: int, blocks: int) -> None:
    assert own_blocks(slots, tokens) == blocks


def test_options_are_checked() -> None:
    with pytest.raises(InputError, match="allowed: staged, paged"):
        EngineConfig(attention="flash")
    with pytest.raises(InputError, match="leave it out of 'paged'"):
        EngineConfig(attention="paged", kv_mode="reorder")
    with pytest.raises(InputError, match="block_tokens is 0"):
        EngineConfig(attention="paged", block_tokens=0)

"""The whole model and its search against transformers, over the families and their settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.world import World, make_world, token_beams
from tests.oracle.beam import beam_search
from tests.oracle.compare import compare
from xgr.engine.layout import lay_out
from xgr.engine.request import Request

# scalings begin past their original 16 positions: the longest prompt has 43
HISTORIES = [[3], [5, 8, 1, 30], [2, 7, 9, 11, 13, 17, 19, 23, 29, 31, 37, 6, 4, 0]]
ROPES: dict[str, dict[str, Any]] = {
    f"{family}-{rope}-{form}": {"family": family, "rope": rope, "form": form}
    for family, rope, form in [
        ("qwen3", "linear", "new"),
        ("qwen3", "yarn", "old"),
        ("qwen2", "yarn", "new"),
        ("qwen2", "linear", "old"),
        ("llama", "llama3", "new"),
        ("llama", "llama3", "old"),
        ("qwen2", "dynamic", "new"),
    ]
}
SETTINGS: dict[str, dict[str, Any]] = {
    **ROPES,
    "qwen3": {},
    "qwen2": {"family": "qwen2"},
    "llama": {"family": "llama"},
    "untied": {"tied": False},
    "llama-untied": {"family": "llama", "tied": False},
    "no-groups": {"kv_heads": 4},
    "one-kv-head": {"family": "qwen2", "kv_heads": 1},
    "sharded": {"shard_size": "20KB"},
    "llama-bias": {"family": "llama", "attention_bias": True, "mlp_bias": True},
    "qwen3-bias": {"attention_bias": True},
    "one-layer": {"num_hidden_layers": 1},
    "old-config": {"form": "old"},
    "stored-bfloat16": {"dtype": torch.bfloat16},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_prefill_and_search_equal_transformers(tmp_path: Path, name: str) -> None:
    world = make_world(tmp_path, **SETTINGS[name])
    recommender = world.recommender(max_requests=len(HISTORIES))
    found = recommender.recommend(HISTORIES, 40, [4, 9, 20])
    for history, ours in zip(HISTORIES, found, strict=True):
        sids = [world.tokens(sid) for sid in world.sids]
        oracle = beam_search(world.model, world.prompt(history), sids, [4, 9, 20])
        assert min(oracle.cut_gaps) > 1e-4, "choose another seed: this cut is a near tie"
        assert compare(token_beams(ours), oracle) == []


@pytest.mark.parametrize("family", ["qwen3", "qwen2", "llama"])
def test_last_hidden_state_and_logits_equal_transformers(tmp_path: Path, family: str) -> None:
    world = make_world(tmp_path, family, tied=False)
    got, head = _prefill(world)
    for row, history in enumerate(HISTORIES):
        ids = torch.tensor([world.prompt(history)])
        with torch.inference_mode():
            want = world.model.model(ids).last_hidden_state[0, -1].numpy()
            logits = world.model(ids).logits[0, -1].numpy()
        np.testing.assert_allclose(got[row], want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(got[row] @ head.T, logits, rtol=1e-4, atol=1e-4)


def _prefill(world: World) -> tuple[Any, Any]:
    """Final hidden states [B, h] of the histories as one batch, and the head [V, h]."""
    engine = world.recommender(max_requests=len(HISTORIES)).engine
    requests = [Request(world.prompt(history), 4) for history in HISTORIES]
    engine.run(requests, world.recommender().store.current)
    layout = lay_out(requests, engine.depth, 0, engine.rt.backend)
    lasts = engine._kept[("lasts", layout.requests)]
    return engine.rt.fetch(lasts.normed), engine.rt.fetch(engine.decoder.head)


@pytest.mark.parametrize(
    "widths", [1, 5, 33, [6, 3, 1], [1, 4, 40], [2, 40, 3], [40, 1, 40], [6, 30, 7]]
)
def test_widths_grow_and_shrink(world: World, widths: int | list[int]) -> None:
    recommender = world.recommender()
    for history in HISTORIES:
        ours = recommender.recommend([history], 50, widths)[0]
        sids = [world.tokens(sid) for sid in world.sids]
        oracle = beam_search(world.model, world.prompt(history), sids, widths)
        assert compare(token_beams(ours), oracle) == []
        assert len(ours.beams()) == len(oracle.results)

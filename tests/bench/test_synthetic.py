from __future__ import annotations

from math import prod

import numpy as np
import pytest

from xgr.bench import synthetic
from xgr.bench.synthetic import RandomTensors
from xgr.catalog.synthetic import random_catalogue
from xgr.engine import Engine, EngineConfig, Recommendations, Request
from xgr.errors import InputError
from xgr.runtime import runtime

SIZES = (8192, 8192, 8192)


@pytest.mark.parametrize(
    ("name", "billions"), [("qwen3-0.6b", 0.62), ("qwen3-1.7b", 1.77), ("qwen3-4b", 4.08)]
)
def test_shapes_have_the_published_sizes(name: str, billions: float) -> None:
    """Parameters as published, with 24,576 codes in the place of the vocabulary's padding."""
    c = synthetic.config(name, SIZES)
    assert c.vocab_size == 176_256
    assert c.tied_embeddings
    assert c.qk_norm
    heads = (2 * c.num_heads + 2 * c.num_kv_heads) * c.head_dim
    layer = c.hidden_size * (heads + 3 * c.intermediate_size + 2) + 2 * c.head_dim
    total = c.hidden_size * (c.vocab_size + 1) + c.num_layers * layer
    assert total / 1e9 == pytest.approx(billions, abs=0.01)


def test_codes_follow_the_text_tokens_without_overlap() -> None:
    ids = synthetic.code_tokens("qwen3-0.6b", SIZES)
    flat = [token for level in ids for token in level]
    assert flat == list(range(151_669, 151_669 + 3 * 8192))
    assert flat[-1] < synthetic.config("qwen3-0.6b", SIZES).vocab_size


def test_weights_have_their_deviation_and_no_two_rows_are_equal() -> None:
    config = synthetic.config("qwen3-0.6b", SIZES)
    weights = RandomTensors(config, "bfloat16")
    # larger than the block of values that it repeats
    table = weights.take("model.embed_tokens.weight", (5000, 1024)).astype(np.float32)
    assert len({row.tobytes() for row in table}) == len(table)
    assert table.std() == pytest.approx(2.5 / 32, rel=0.02)
    assert abs(np.corrcoef(table[0], table[1])[0, 1]) < 0.15
    up = weights.take("model.layers.3.mlp.up_proj.weight", (3072, 1024)).astype(np.float32)
    assert up.std() == pytest.approx(1 / 32, rel=0.02)
    norm = weights.take("model.layers.3.input_layernorm.weight", (1024,))
    assert (norm == 1).all()
    assert norm.dtype.name == "bfloat16"


def test_weights_follow_from_the_seed_and_the_name() -> None:
    config, shape = synthetic.config("qwen3-tiny", (8, 8)), (64, 64)
    draw = {
        (seed, name): RandomTensors(config, "float32", seed).take(name, shape)
        for seed in (0, 1)
        for name in ("a.weight", "b.weight")
    }
    again = RandomTensors(config, "float32", 1)
    again.take("b.weight", shape)
    assert (again.take("a.weight", shape) == draw[1, "a.weight"]).all()
    values = list(draw.values())
    assert all((a != b).any() for i, a in enumerate(values) for b in values[:i])
    assert prod(shape) == values[0].size


def test_logits_are_finite_and_neither_flat_nor_absurd() -> None:
    """Raw logits of every code of the first level, for two prompts."""
    sizes, rt = (256, 256), runtime("cpu")
    model = synthetic.decoder(rt, "qwen3-tiny", sizes, dtype="float32")
    ids = synthetic.code_tokens("qwen3-tiny", sizes)
    catalogue = random_catalogue("random:4K:2x256")
    limits = EngineConfig(normalize="none", max_tokens=64, max_rows=1024, max_requests=2)
    engine = Engine(rt.lane(), model, ids, limits)
    prompts = [[*ids[0][3:9], *ids[1][40:60]], [*ids[1][7:20]]]
    found = engine.run([Request(p, [256, 256], 1) for p in prompts], catalogue)
    first = []
    for one in found:
        assert isinstance(one, Recommendations)
        beams = one.beams()
        assert one.n_valid == len(beams) == 256
        scores = np.array([beam.score for beam in beams])
        assert np.isfinite(scores).all()
        first.append({beam.codes[0]: beam.level_scores[0] for beam in beams if beam.codes})
        assert 1 < np.std([beam.level_scores[1] for beam in beams]) < 5 or scores.std() > 0.5
        assert np.abs(scores).max() < 40
    common = sorted(set(first[0]) & set(first[1]))
    assert [first[0][code] for code in common] != [first[1][code] for code in common]


def test_unknown_names_and_dtypes_are_refused() -> None:
    with pytest.raises(InputError, match=r"'qwen9' has no known shape; known: qwen3-0\.6b"):
        synthetic.config("qwen9", SIZES)
    with pytest.raises(InputError, match="dtype is 'int8', allowed: float32"):
        synthetic.decoder(runtime("cpu"), "qwen3-tiny", (8, 8), dtype="int8")

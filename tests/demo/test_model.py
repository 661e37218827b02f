"""The shipped checkpoint: what is stored, and that it has learnt its customers."""

from __future__ import annotations

import json
import math
import struct

from tests.demo.shop import DEMO, drawn_shop, example, text, vocabulary


def test_weights_are_bfloat16_and_few() -> None:
    content = (DEMO / "model" / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    assert {tensor["dtype"] for tensor in header.values()} == {"BF16"}
    assert sum(math.prod(tensor["shape"]) for tensor in header.values()) < 500_000
    assert "lm_head.weight" not in header  # tied to the embedding
    assert any(name.endswith("q_norm.weight") for name in header)


def test_config_is_that_of_a_small_tied_qwen3() -> None:
    config = json.loads(text("model/config.json"))
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["dtype"] == "bfloat16"
    assert config["tie_word_embeddings"]
    assert config["num_key_value_heads"] < config["num_attention_heads"]
    assert len(vocabulary()) <= config["vocab_size"]
    assert config["max_position_embeddings"] > 1 + 3 * 50 + 3
    ids = [config[f"{name}_token_id"] for name in ("pad", "bos", "eos")]
    assert ids == [vocabulary()[f"<{name}>"] for name in ("pad", "bos", "eos")]


def test_sampling_defaults_are_not_shipped() -> None:
    assert (
        not {"top_k", "top_p", "temperature"}
        & json.loads(text("model/generation_config.json")).keys()
    )


def test_recall_is_far_above_popularity_and_below_certainty() -> None:
    import torch
    import transformers

    shop, scoring, users = drawn_shop(), example("demo_score"), 100
    model = transformers.Qwen3ForCausalLM.from_pretrained(DEMO / "model", dtype=torch.float32)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the model is so small that more would only wait for one another
    try:
        rankings = scoring.rank(model, shop, users)
    finally:
        torch.set_num_threads(threads)
    recall, _ = scoring.score(rankings, shop)
    assert recall >= 5 * scoring.popularity_recall(shop, users=users)
    assert 0.3 <= recall <= 0.9

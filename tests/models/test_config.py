"""DecoderConfig reads what transformers reads, and refuses what the decoder does not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from tests.data import shared
from xgr.errors import ModelError
from xgr.models.config import DecoderConfig

SIZES: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 112,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
}
QWEN3 = {**SIZES, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 16}
QWEN2 = {**SIZES, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
LLAMA = {**SIZES, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}


@pytest.mark.parametrize(
    "data",
    [
        {**QWEN3, "rope_theta": 1e6, "torch_dtype": "bfloat16", "tie_word_embeddings": True},
        {
            **QWEN3,
            "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"},
            "dtype": "float16",
        },
        {**QWEN3, "attention_bias": True, "eos_token_id": [7, 9], "bos_token_id": 3},
        {**QWEN2, "rope_scaling": {"type": "yarn", "factor": 4.0}, "use_sliding_window": False},
        {**QWEN2, "use_sliding_window": True, "sliding_window": 64, "max_window_layers": 3},
        {
            **QWEN2,
            "use_sliding_window": True,
            "sliding_window": 64,
            "max_window_layers": 1,
            "layer_types": ["full_attention"] * 3,
        },
        {**LLAMA, "attention_bias": True, "mlp_bias": True, "pad_token_id": 0},
        {**LLAMA, "num_key_value_heads": None, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {key: value for key, value in QWEN3.items() if key != "head_dim"},
        {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"},
    ],
)
def test_reads_what_transformers_reads(data: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(data))
    ours = DecoderConfig.load(tmp_path)
    theirs = AutoConfig.from_pretrained(tmp_path)
    eos = theirs.eos_token_id
    assert ours.num_layers == theirs.num_hidden_layers
    assert ours.num_heads == theirs.num_attention_heads
    assert ours.num_kv_heads == theirs.num_key_value_heads
    assert ours.head_dim == getattr(theirs, "head_dim", theirs.hidden_size // ours.num_heads)
    assert ours.rope.theta == theirs.rope_parameters["rope_theta"]
    assert ours.rope.kind == theirs.rope_parameters["rope_type"]
    assert ours.tied_embeddings == theirs.tie_word_embeddings
    assert ours.pad_token_id == theirs.pad_token_id
    if "eos_token_id" in data:
        assert ours.eos_token_ids == tuple(eos)
        assert ours.bos_token_id == theirs.bos_token_id
    for name in ("vocab_size", "hidden_size", "intermediate_size", "rms_norm_eps"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_biases_and_norms_of_each_family() -> None:
    def parts(data: dict[str, Any]) -> tuple[bool, bool, bool, bool]:
        config = DecoderConfig.from_dict(data)
        return config.qk_norm, config.qkv_bias, config.output_bias, config.mlp_bias

    assert parts(QWEN3) == (True, False, False, False)
    assert parts({**QWEN3, "attention_bias": True, "mlp_bias": True}) == (True, True, True, False)
    assert parts(QWEN2) == (False, True, False, False)
    assert parts({**QWEN2, "attention_bias": True}) == (False, True, False, False)
    assert parts({**LLAMA, "attention_bias": True}) == (False, True, True, False)
    assert parts({**LLAMA, "mlp_bias": True}) == (False, False, False, True)


def test_dtype_in_both_forms() -> None:
    assert DecoderConfig.from_dict({**LLAMA, "dtype": "bfloat16"}).dtype == "bfloat16"
    assert DecoderConfig.from_dict({**LLAMA, "torch_dtype": "float16"}).dtype == "float16"
    assert DecoderConfig.from_dict(LLAMA).dtype == "float32"


def test_yarn_extends_the_positions_that_its_config_keeps_at_the_pretraining() -> None:
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}
    assert DecoderConfig.from_dict({**QWEN2, "rope_scaling": scaling}).max_positions == 1024
    linear = {"type": "linear", "factor": 4.0}
    assert DecoderConfig.from_dict({**QWEN2, "rope_scaling": linear}).max_positions == 256


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"architectures": ["MistralForCausalLM"]}, "MistralForCausalLM.*Qwen3ForCausalLM"),
        ({"architectures": None, "model_type": "t5"}, "'t5'.*LlamaForCausalLM"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}, "sliding"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding_attention"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor is 0.5"),
        ({"pretraining_tp": 2}, "pretraining_tp is 2"),
        ({"rope_scaling": {"type": "longrope", "factor": 2.0}}, "longrope.*yarn"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1.0}}}, "full_attention"),
        ({"dtype": "float8_e4m3fn"}, "float8_e4m3fn.*bfloat16"),
        ({"num_key_value_heads": 3}, "num_key_value_heads is 3.*divisor of 8"),
        ({"head_dim": 7}, "head_dim is 7.*even"),
        ({"hidden_size": None}, "no 'hidden_size'"),
        ({"vocab_size": "96"}, "vocab_size is '96'.*integer"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"rms_norm_eps": 0.0}, "rms_norm_eps"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings is 1"),
        ({"eos_token_id": "end"}, "eos_token_id is 'end'"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelError, match=f"config.json.*{named}"):
        DecoderConfig.from_dict({**QWEN3, **change})


def test_a_broken_config_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with pytest.raises(ModelError, match=r"config\.json cannot be read: No such file"):
        DecoderConfig.load(tmp_path)
    path.write_text('{"vocab_size": ')
    with pytest.raises(ModelError, match=r"config\.json is not valid JSON"):
        DecoderConfig.load(tmp_path)
    path.write_text("[]")
    with pytest.raises(ModelError, match=r"config\.json must hold a JSON object"):
        DecoderConfig.load(tmp_path)


def test_sampling_defaults_are_not_part_of_a_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3))
    plain = DecoderConfig.load(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"top_k": 20, "top_p": 0.8}')
    assert DecoderConfig.load(tmp_path) == plain


def test_the_games_checkpoint() -> None:
    config = DecoderConfig.load(shared("models/games-qwen3-6m"))
    assert (config.num_layers, config.num_heads, config.num_kv_heads) == (6, 8, 4)
    assert (config.bos_token_id, config.eos_token_ids, config.pad_token_id) == (1, (2,), 0)
    assert config.tied_embeddings
    assert config.qk_norm
    assert config.dtype == "bfloat16"
    assert config.max_positions == 1024

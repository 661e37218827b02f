"""Rotary frequencies equal those of transformers to float32 accuracy, for every scaling kind."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import LlamaConfig, Qwen2Config, Qwen3Config
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from xgr.errors import ModelError
from xgr.models.config import DecoderConfig
from xgr.models.rope import KINDS, RopeConfig, inverse_frequencies

SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 256,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 32768,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
SCALINGS: list[dict[str, Any]] = [
    {"rope_type": "default"},
    {"rope_type": "linear", "factor": 3.0},
    {"rope_type": "dynamic", "factor": 3.0},
    YARN,
    {"type": "yarn", "factor": 4.0},
    {**YARN, "attention_factor": 0.75},
    {**YARN, "mscale": 0.7, "mscale_all_dim": 1.3},
    {**YARN, "mscale": 0.7},
    {**YARN, "mscale": 1.0, "mscale_all_dim": 0.0},
    {**YARN, "factor": 1.0},
    {**YARN, "truncate": False},
    {**YARN, "beta_fast": 20.0, "beta_slow": 2.0},
    {**YARN, "truncate": False, "beta_fast": 3.0, "beta_slow": 3.0},
    {**YARN, "truncate": False, "beta_fast": 3.1, "beta_slow": 3.1},
    {**YARN, "factor": 8.0, "original_max_position_embeddings": 64},
    LLAMA3,
    {**LLAMA3, "factor": 8.0, "high_freq_factor": 2.0},
    {**LLAMA3, "original_max_position_embeddings": 64},
]


@pytest.mark.parametrize("scaling", SCALINGS, ids=str)
@pytest.mark.parametrize(
    ("architecture", "config_class"),
    [
        ("Qwen3ForCausalLM", Qwen3Config),
        ("Qwen2ForCausalLM", Qwen2Config),
        ("LlamaForCausalLM", LlamaConfig),
    ],
)
@pytest.mark.parametrize("theta", [1e4, 1e6])
def test_equals_transformers(
    scaling: dict[str, Any], architecture: str, config_class: Any, theta: float
) -> None:
    head = {"head_dim": 128} if architecture == "Qwen3ForCausalLM" else {}
    sizes = {**SIZES, **head}
    ours = DecoderConfig.from_dict(
        {"architectures": [architecture], **sizes, "rope_theta": theta, "rope_scaling": scaling}
    )
    frequencies, attention = inverse_frequencies(ours.rope, ours.head_dim, 4096)

    theirs = config_class(**sizes, rope_parameters={**scaling, "rope_theta": theta})
    rotary = LlamaRotaryEmbedding(theirs)
    assert frequencies == pytest.approx(rotary.inv_freq.tolist(), rel=1e-6, abs=0)
    assert attention == pytest.approx(rotary.attention_scaling, rel=1e-12)


def test_every_kind_is_compared() -> None:
    assert {s.get("rope_type", s.get("type")) for s in SCALINGS} == set(KINDS)


def test_newer_and_older_form_are_the_same() -> None:
    base = {"architectures": ["LlamaForCausalLM"], **SIZES}
    inner = {key: value for key, value in YARN.items() if key != "rope_type"}
    older = {**base, "rope_theta": 5e5, "rope_scaling": {"type": "yarn", **inner}}
    newer = {**base, "rope_parameters": {**YARN, "rope_theta": 5e5}}
    assert DecoderConfig.from_dict(older).rope == DecoderConfig.from_dict(newer).rope


def test_dynamic_is_default_up_to_its_length_and_refused_beyond() -> None:
    rope = RopeConfig("dynamic", 1e4, 2.0, original_max_positions=128)
    assert inverse_frequencies(rope, 64, 128) == inverse_frequencies(RopeConfig(), 64, 128)
    with pytest.raises(ModelError, match="129 positions asked, but only 128"):
        inverse_frequencies(rope, 64, 129)


def test_odd_heads_are_refused() -> None:
    with pytest.raises(ModelError, match="head_dim is 63"):
        inverse_frequencies(RopeConfig(), 63, 8)


@pytest.mark.parametrize(
    ("scaling", "named"),
    [
        ({"rope_type": "linear"}, "no 'factor'"),
        ({"rope_type": "linear", "factor": -1.0}, "factor is -1.0"),
        ({"rope_type": "llama3", "factor": 8.0}, "no 'low_freq_factor'"),
        ({**LLAMA3, "high_freq_factor": 1.0}, "high_freq_factor is 1.0.*more than"),
        ({**YARN, "original_max_position_embeddings": "32k"}, "original_max_position_embeddings"),
        ({**YARN, "truncate": "no"}, "truncate is 'no'"),
        ({"rope_type": "proportional"}, "'proportional'.*one of default, linear"),
    ],
)
def test_a_bad_scaling_is_named(scaling: dict[str, Any], named: str) -> None:
    data = {"architectures": ["LlamaForCausalLM"], **SIZES, "rope_scaling": scaling}
    with pytest.raises(ModelError, match=named):
        DecoderConfig.from_dict(data)

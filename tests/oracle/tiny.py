"""Tiny random checkpoints of the families the runtime knows, as HF writes them to disk."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch

# What each kind of rope scaling needs beside rope_theta; the original length is below the
# positions that a test reaches, so that the scaled part of the formula is in play.
ROPES: dict[str, dict[str, Any]] = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 2.5},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    },
}
FAMILIES = ("qwen3", "qwen2", "llama")
BOS, EOS, PAD = 1, 2, 0


def tiny_model(
    folder: Path,
    family: str = "qwen3",
    *,
    rope: str = "default",
    tied: bool = True,
    kv_heads: int = 2,
    form: str = "new",
    dtype: torch.dtype = torch.float32,
    vocab_size: int = 64,
    seed: int = 0,
    shard_size: str = "1GB",
    spread: float = 0.25,
    **changes: Any,
) -> Path:
    """Writes config.json and safetensors of a random model and returns the folder.

    Every tensor is random, norms and biases too, and large enough that the logits are far from
    flat: a part that is left out or read wrongly moves the scores.

    Args:
        folder: where to; made when absent.
        family: "qwen3", "qwen2" or "llama".
        rope: a key of `ROPES`.
        tied: whether the head is the embedding.
        kv_heads: K/V heads of 4 query heads: 4, 2 or 1.
        form: "new" (rope_parameters, dtype) or "old" (rope_theta, rope_scaling, torch_dtype).
        dtype: of the stored weights.
        vocab_size: rows of the embedding and the head.
        seed: of the weights.
        shard_size: weights above this are split over files with an index.
        spread: standard deviation of the weights; of the norms' it is 0.2, around 1.
        changes: further fields of the HF config.
    """
    fields: dict[str, Any] = {
        "vocab_size": vocab_size,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": 128,
        "tie_word_embeddings": tied,
        "rope_parameters": {"rope_theta": 5000.0, **ROPES[rope]},
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
    }
    if family != "qwen2":
        fields["head_dim"] = 16  # not hidden / heads: a reader must take it from the config
    model = _build(family, fields | changes)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=draw)
            weight.copy_(1 + 0.2 * noise if name.endswith("norm.weight") else spread * noise)
    model.to(dtype).save_pretrained(folder, max_shard_size=shard_size)
    if form == "old":
        _to_old_form(folder / "config.json")
    elif form != "new":
        raise ValueError(f"form must be new or old, got {form!r}")
    return folder


def tiny_catalogue(
    folder: Path, *, codes: tuple[int, ...] = (6, 5, 7), items: int = 40, seed: int = 0
) -> tuple[dict[int, tuple[str, ...]], dict[str, int]]:
    """Random items and the tokenizer.json that spells them, written into `folder`.

    Token ids are a shuffle: neither contiguous within a level nor in the order of the codes.

    Returns:
        item id -> labels ("<a_3>", "<b_0>", ...), some shared by two items; label -> token id.
    """
    draw = random.Random(seed)
    levels = [[f"<{chr(97 + n)}_{c}>" for c in range(size)] for n, size in enumerate(codes)]
    labels = [label for level in levels for label in level]
    ids = list(range(3, 3 + len(labels)))
    draw.shuffle(ids)
    vocab = {"<pad>": PAD, "<bos>": BOS, "<eos>": EOS, **dict(zip(labels, ids, strict=True))}
    catalogue = {item: tuple(draw.choice(level) for level in levels) for item in range(items)}
    catalogue[items - 1] = catalogue[0]
    text: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": "<[^<>]+>"},
            "behavior": "Isolated",
            "invert": False,
        },
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<pad>"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(text))
    return catalogue, {label: vocab[label] for label in labels}


def _build(family: str, fields: dict[str, Any]) -> Any:
    import transformers

    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    stem = family.capitalize()
    config = getattr(transformers, f"{stem}Config")(**fields)
    return getattr(transformers, f"{stem}ForCausalLM")(config)


def _to_old_form(path: Path) -> None:
    """Rewrites a config.json as libraries before version 5 wrote it."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else {"type": kind, **rope}
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2))

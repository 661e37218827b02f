"""Weights: what is read is what was saved; missing, misshapen, unused and unsafe are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file
from safetensors.torch import save_file as save_torch

from tests.data import shared
from xgr.errors import ModelError
from xgr.models.weights import Weights

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(4, dtype=np.float16)


def sharded(folder: Path, shards: dict[str, dict[str, Any]], index: dict[str, str]) -> Path:
    for file, tensors in shards.items():
        save_file(tensors, folder / file)
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": index}))
    return folder


def test_reads_every_dtype_as_it_is_stored(tmp_path: Path) -> None:
    stored = {
        "f32": torch.tensor([[1.5, -2.0]]),
        "bf16": torch.tensor([3.25, -1e30], dtype=torch.bfloat16),
        "f16": torch.tensor([0.1], dtype=torch.float16),
        "f64": torch.tensor([0.1], dtype=torch.float64),
    }
    save_torch(stored, tmp_path / "model.safetensors")
    weights = Weights.open(tmp_path)
    for name, tensor in stored.items():
        array = weights.take(name, tuple(tensor.shape))
        want = np.dtype(ml_dtypes.bfloat16) if name == "bf16" else tensor.numpy().dtype
        assert array.dtype == want
        assert array.astype(np.float64).tolist() == tensor.double().tolist()
    weights.finish()


def test_bfloat16_needs_no_torch_and_no_import_of_the_caller(tmp_path: Path) -> None:
    save_torch({"a": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "model.safetensors")
    code = (
        "import sys; from xgr.models.weights import Weights; "
        f"print(Weights.open({str(tmp_path)!r}).take('a', (2,)).dtype, 'torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["bfloat16", "False"]


def test_reads_shards(tmp_path: Path) -> None:
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    weights = Weights.open(sharded(tmp_path, {one: {"a": A}, two: {"b": B}}, {"a": one, "b": two}))
    assert sorted(weights) == ["a", "b"]
    assert "a" in weights
    assert len(weights) == 2
    assert weights.take("b", (4,)).tolist() == B.tolist()
    assert weights.take("a", (2, 3)).tolist() == A.tolist()
    weights.finish()


def test_missing_weights_are_all_named(tmp_path: Path) -> None:
    save_file({"a": A}, tmp_path / "model.safetensors")
    weights = Weights.open(tmp_path)
    with pytest.raises(ModelError, match=r"lacks 2 weights.*: b, c$"):
        weights.require(["a", "b", "c"])
    with pytest.raises(ModelError, match=r"lacks 1 weights.*: b$"):
        weights.take("b", (1,))
    with pytest.raises(ModelError, match=r"lm_head\.weight; .*tie_word_embeddings"):
        weights.take("lm_head.weight", (1,))


def test_a_wrong_shape_says_both_and_does_not_count_as_taken(tmp_path: Path) -> None:
    save_file({"a": A}, tmp_path / "model.safetensors")
    weights = Weights.open(tmp_path)
    with pytest.raises(ModelError, match=r"a has shape \[2, 3\], the config needs \[3, 2\]"):
        weights.take("a", (3, 2))
    with pytest.raises(ModelError, match="holds 1 weights"):
        weights.finish()


def test_unused_weights_are_named_and_known_buffers_are_not(tmp_path: Path) -> None:
    names = ["model.layers.0.self_attn.rotary_emb.inv_freq", "lm_head.weight", "extra", "a"]
    save_file({name: A for name in names}, tmp_path / "model.safetensors")
    weights = Weights.open(tmp_path)
    weights.take("a", (2, 3))
    with pytest.raises(ModelError, match=r"holds 2 weights.*: extra, lm_head\.weight;"):
        weights.finish()
    with pytest.raises(ModelError, match=r"holds 1 weights.*: extra;"):
        weights.finish(tied_embeddings=True)
    weights.take("extra", (2, 3))
    weights.finish(tied_embeddings=True)


def test_long_lists_are_cut(tmp_path: Path) -> None:
    save_file({f"w{i:02d}": A for i in range(12)}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"holds 12 weights.*w07 and 4 more"):
        Weights.open(tmp_path).finish()


def test_integer_weights_are_refused(tmp_path: Path) -> None:
    save_file({"a": A.astype(np.int8)}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"a is stored as I8, need one of F32, BF16"):
        Weights.open(tmp_path).take("a", (2, 3))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pth", "last.ckpt"])
def test_pickles_are_refused_with_the_command_that_converts(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match=rf"{name}.*run code.*save_pretrained"):
        Weights.open(tmp_path)


def test_a_pickle_beside_safetensors_is_left_alone(tmp_path: Path) -> None:
    save_file({"a": A}, tmp_path / "model.safetensors")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert list(Weights.open(tmp_path)) == ["a"]


def test_a_folder_without_weights_says_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no model\.safetensors"):
        Weights.open(tmp_path)
    with pytest.raises(ModelError, match="none is not a folder"):
        Weights.open(tmp_path / "none")
    save_file({"a": A}, tmp_path / "other.safetensors")
    with pytest.raises(ModelError, match=r"has other\.safetensors but neither"):
        Weights.open(tmp_path)
    save_file({"a": A}, tmp_path / "adapter_model.safetensors")
    with pytest.raises(ModelError, match="adapter only; merge it"):
        Weights.open(tmp_path)


@pytest.mark.parametrize("keep", [0, 3, 40, -1])
def test_a_truncated_file_is_named(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"a": A}, path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError, match=r"model\.safetensors is broken \(\d+ bytes"):
        Weights.open(tmp_path)


def test_a_large_file_pointer_is_recognised(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    (tmp_path / "model.safetensors").write_text(pointer)
    with pytest.raises(ModelError, match=r"Git LFS pointer.*git lfs pull"):
        Weights.open(tmp_path)


def test_an_index_that_lies_is_refused(tmp_path: Path) -> None:
    shards: dict[str, Any] = {"one.safetensors": {"a": A}, "two.safetensors": {"b": B}}
    swapped = {"a": "two.safetensors", "b": "one.safetensors"}
    with pytest.raises(ModelError, match=r"not in their shard: a, b$"):
        Weights.open(sharded(tmp_path, shards, swapped))
    with pytest.raises(ModelError, match=r"not in their shard: a$"):
        Weights.open(sharded(tmp_path, shards, {"a": "two.safetensors"}))
    with pytest.raises(ModelError, match=r"three\.safetensors is missing"):
        Weights.open(sharded(tmp_path, shards, {"a": "three.safetensors"}))
    with pytest.raises(ModelError, match="same folder"):
        Weights.open(sharded(tmp_path, shards, {"a": "../one.safetensors"}))
    with pytest.raises(ModelError, match="no 'weight_map'"):
        Weights.open(sharded(tmp_path, shards, {}))


def test_a_tensor_that_the_index_forgot_is_still_unused(tmp_path: Path) -> None:
    shards = {"one.safetensors": {"a": A, "forgotten": B}}
    weights = Weights.open(sharded(tmp_path, shards, {"a": "one.safetensors"}))
    weights.take("a", (2, 3))
    with pytest.raises(ModelError, match="forgotten"):
        weights.finish()


def test_the_games_checkpoint_reads_as_torch_reads_it() -> None:
    folder = shared("models/games-qwen3-6m")
    weights = Weights.open(folder)
    for name, tensor in load_file(folder / "model.safetensors").items():
        array = weights.take(name, tuple(tensor.shape))
        assert np.array_equal(array.astype(np.float32), tensor.float().numpy())
    weights.finish()

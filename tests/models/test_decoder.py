"""Loading and running a decoder: every tensor counts, prompts lie anywhere, nothing is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import xgr
from tests.oracle.beam import load
from tests.oracle.tiny import FAMILIES, tiny_model
from xgr.errors import ModelError
from xgr.models.activations import Activations, Workspace
from xgr.models.decoder import Decoder, Prefill, Prompts
from xgr.ops.dtype import float32, int32

PROMPTS = [[1, 9, 20, 4], [1], [5, 17, 8, 2, 30, 41, 63, 0, 11, 12, 13, 14, 15, 16, 3, 7, 6]]
RT = xgr.runtime("cpu").lane()


def change(folder: Path, edit: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def prefill(
    decoder: Decoder, prompts: list[list[int]], starts: list[int], arena: int, padding: int = 0
) -> tuple[Any, Any, Any]:
    """Last hidden states [B, h], and the arena's keys and values, which began as all 7s."""
    shape = (decoder.config.num_layers, arena, decoder.config.num_kv_heads, decoder.config.head_dim)
    keys, values = (RT.upload(np.full(shape, 7, np.float32)) for _ in range(2))
    ends = np.cumsum([len(prompt) for prompt in prompts])
    ids = [token for prompt in prompts for token in prompt] + [0] * padding
    rows = Prompts(
        RT.upload(ids, int32),
        RT.upload([0, *ends.tolist()], int32),
        RT.upload((ends - 1).tolist(), int32),
        RT.upload(starts, int32),
        RT.upload([len(prompt) for prompt in prompts], int32),
    )
    tokens = int(ends[-1]) + padding
    lasts = Activations(RT, decoder, len(prompts), Workspace(RT, decoder, len(prompts)))
    space = Workspace(RT, decoder, tokens + 3)
    program = Prefill(RT, decoder, tokens, lasts, rows, keys, values, space)
    hidden = RT.fetch(program.launch())
    return hidden, RT.fetch(keys), RT.fetch(values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("decoder"))


@pytest.mark.parametrize("gate", ["before", "behind in one launch", "behind in two"])
@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_equal_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str, gate: str
) -> None:
    behind = gate != "before"
    monkeypatch.setattr(type(RT.backend), "norms_behind", behind)
    if gate == "behind in two":
        monkeypatch.setitem(RT._kernels, "linear_swiglu", [])
    tiny_model(tmp_path, family)
    decoder = Decoder.load(RT, tmp_path)
    config = decoder.config
    biased = config.qkv_bias or config.output_bias or config.mlp_bias
    assert decoder.norms_behind == (behind and not biased)
    hidden, _, _ = prefill(decoder, PROMPTS, [0, 4, 5], 22)
    model = load(tmp_path).model
    for row, prompt in enumerate(PROMPTS):
        with torch.inference_mode():
            want = model(torch.tensor([prompt])).last_hidden_state[0, -1].numpy()
        np.testing.assert_allclose(hidden[row], want, rtol=1e-4, atol=1e-5)


def test_norms_stay_before_products_in_float16(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(RT.backend), "norms_behind", True)
    for name, behind in (("float16", False), ("bfloat16", True)):
        decoder = Decoder.load(RT, folder, name)
        assert decoder.norms_behind is behind
        norms = [norm for layer in decoder.layers for norm in (layer.input_norm, layer.mlp_norm)]
        assert all((norm is None) is behind for norm in norms)


def test_prompts_lie_anywhere_in_the_arena(folder: Path) -> None:
    """Their order, gaps between them and padding tokens behind them change nothing."""
    decoder = Decoder.load(RT, folder)
    want, packed, _ = prefill(decoder, PROMPTS, [0, 4, 5], 22)
    got, keys, values = prefill(decoder, PROMPTS, [40, 3, 8], 64, padding=10)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    used = [*range(40, 44), 3, *range(8, 25)]
    np.testing.assert_allclose(keys[:, used], packed, rtol=1e-5, atol=1e-6)
    rest = sorted(set(range(64)) - set(used))
    assert (keys[:, rest] == 7).all()
    assert (values[:, rest] == 7).all()


def test_every_tensor_is_asked_for_by_name(folder: Path, tmp_path: Path) -> None:
    names = list(load_file(folder / "model.safetensors"))
    assert "model.layers.1.self_attn.k_norm.weight" in names
    for name in names:
        tiny_model(tmp_path)
        change(tmp_path, lambda tensors, name=name: tensors.pop(name))  # type: ignore[misc]  # bound
        with pytest.raises(ModelError, match=name.replace(".", r"\.")):
            Decoder.load(RT, tmp_path)


def test_unused_and_misshapen_tensors_are_refused(tmp_path: Path) -> None:
    tiny_model(tmp_path)
    bias = "model.layers.0.self_attn.q_proj.bias"
    change(tmp_path, lambda tensors: tensors.update({bias: torch.zeros(64)}))
    with pytest.raises(ModelError, match=r"does not use: .*q_proj\.bias"):
        Decoder.load(RT, tmp_path)
    tiny_model(tmp_path)
    down = "model.layers.1.mlp.down_proj.weight"
    change(tmp_path, lambda tensors: tensors.update({down: tensors[down].T.contiguous()}))
    with pytest.raises(ModelError, match=r"down_proj.* \[48, 32\].* \[32, 48\]"):
        Decoder.load(RT, tmp_path)


def test_layers_of_the_config_count(tmp_path: Path) -> None:
    for layers, message in ((1, "does not use: .*layers.1"), (3, "lacks .*layers.2")):
        tiny_model(tmp_path)
        config = json.loads((tmp_path / "config.json").read_text())
        config |= {"num_hidden_layers": layers, "layer_types": ["full_attention"] * layers}
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match=message):
            Decoder.load(RT, tmp_path)


def test_an_unknown_architecture_is_named(tmp_path: Path) -> None:
    tiny_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(
        json.dumps(config | {"architectures": ["GPT2LMHeadModel"]})
    )
    with pytest.raises(ModelError, match=r"GPT2LMHeadModel.*known: Qwen3ForCausalLM"):
        Decoder.load(RT, tmp_path)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_weights_are_cast_to_the_asked_dtype(folder: Path, name: str) -> None:
    decoder = Decoder.load(RT, folder, name)
    assert decoder.dtype.name == name
    arrays = [decoder.embedding, decoder.norm, decoder.layers[1].qkv, decoder.layers[0].q_norm]
    assert {RT.backend.dtype_of(array).name for array in arrays if array is not None} == {name}
    assert RT.backend.dtype_of(decoder.cos) == float32


def test_the_head_is_the_embedding_only_where_it_is_tied(tmp_path: Path) -> None:
    tied = Decoder.load(RT, tiny_model(tmp_path / "tied", tied=True))
    untied = Decoder.load(RT, tiny_model(tmp_path / "untied", tied=False))
    assert tied.head is tied.embedding
    assert not np.array_equal(RT.fetch(untied.head), RT.fetch(untied.embedding))


def test_loading_and_prefill_need_no_values(folder: Path) -> None:
    rt = xgr.runtime("null")
    decoder = Decoder.load(rt, folder, positions=32)
    assert decoder.cos.shape == (32, 8)
    config = decoder.config
    shape = (config.num_layers, 64, config.num_kv_heads, config.head_dim)
    prompts = Prompts(*(rt.empty((n,), int32) for n in (32, 4, 3, 3, 3)))
    space = Workspace(rt, decoder, 32)
    lasts = Activations(rt, decoder, 3, Workspace(rt, decoder, 3))
    keys, values = rt.empty(shape, float32), rt.empty(shape, float32)
    prefill = Prefill(rt, decoder, 32, lasts, prompts, keys, values, space)
    assert prefill.launch().shape == (3, 32)

"""rope_kv and rope_prefill against the modules of transformers that the checkpoints came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import (
    Qwen3RMSNorm,
    Qwen3RotaryEmbedding,
    apply_rotary_pos_emb,
)

import xgr

Array = NDArray[Any]
RT = xgr.runtime("cpu")
HEADS, GROUPS, SIZE, EPS, POSITIONS = 4, 2, 32, 1e-6, 64
KERNELS = ["cpu_ref.reference", "cpu_ref.fast"]


def tables() -> tuple[Array, Array]:
    cos, sin = (np.empty((POSITIONS, SIZE // 2), np.float32) for _ in range(2))
    inv_freq = (10_000.0 ** (-np.arange(0, SIZE, 2) / SIZE)).astype(np.float32)
    RT.rope_table(inv_freq=inv_freq, scaling=1.0, cos=cos, sin=sin)
    return cos, sin


def norm_of(weight: Array) -> Qwen3RMSNorm:
    norm = Qwen3RMSNorm(SIZE, EPS)
    norm.weight = torch.nn.Parameter(torch.from_numpy(weight))
    return norm


@torch.no_grad()
def expected(qkv: Array, positions: Array, q_norm: Array, k_norm: Array) -> tuple[Array, Array]:
    """Queries [n, H, d] and keys [n, G, d] as transformers' Qwen3 computes them."""
    config = Qwen3Config(head_dim=SIZE, hidden_size=HEADS * SIZE, num_attention_heads=HEADS)
    rotary = Qwen3RotaryEmbedding(config)
    parts = torch.from_numpy(qkv).view(1, len(qkv), HEADS + 2 * GROUPS, SIZE)
    q = norm_of(q_norm)(parts[:, :, :HEADS]).transpose(1, 2)
    k = norm_of(k_norm)(parts[:, :, HEADS : HEADS + GROUPS]).transpose(1, 2)
    cos, sin = rotary(q, torch.from_numpy(positions)[None])
    return tuple(x[0].transpose(0, 1).numpy() for x in apply_rotary_pos_emb(q, k, cos, sin))


@pytest.fixture
def projected() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    sizes = {"qkv": (12, (HEADS + 2 * GROUPS) * SIZE), "q_norm": (SIZE,), "k_norm": (SIZE,)}
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in sizes.items()}


@pytest.mark.parametrize("kernel", KERNELS)
def test_decode_rows_stand_behind_their_prompt(kernel: str, projected: dict[str, Array]) -> None:
    cos, sin = tables()
    k, v = (np.zeros((12, 3, GROUPS, SIZE), np.float32) for _ in range(2))
    out = np.empty((12, HEADS, SIZE), np.float32)
    RT.rope_kv(
        **projected,
        cos=cos,
        sin=sin,
        prompt_len=np.array([9, 50], np.int32),
        row_start=np.array([0, 5, 12], np.int32),
        live=np.array([5, 7], np.int32),
        k=k,
        v=v,
        out=out,
        step=2,
        eps=EPS,
        kernel=kernel,
    )
    positions = np.repeat([9 + 2, 50 + 2], [5, 7])
    queries, keys = expected(projected["qkv"], positions, projected["q_norm"], projected["k_norm"])
    np.testing.assert_allclose(out, queries, atol=5e-6)
    np.testing.assert_allclose(k[:, 2], keys, atol=5e-6)
    values = projected["qkv"].reshape(12, -1, SIZE)[:, HEADS + GROUPS :]
    np.testing.assert_array_equal(v[:, 2], values)
    assert not k[:, :2].any()
    assert not v[:, :2].any()


@pytest.mark.parametrize("kernel", KERNELS)
def test_prefill_tokens_are_the_last_of_their_prompt(
    kernel: str, projected: dict[str, Array]
) -> None:
    cos, sin = tables()
    k, v = (np.zeros((40, GROUPS, SIZE), np.float32) for _ in range(2))
    out = np.empty((12, HEADS, SIZE), np.float32)
    RT.rope_prefill(
        **projected,
        cos=cos,
        sin=sin,
        q_start=np.array([0, 4, 12], np.int32),
        prompt_start=np.array([25, 2], np.int32),
        prompt_len=np.array([10, 8], np.int32),
        k=k,
        v=v,
        out=out,
        eps=EPS,
        kernel=kernel,
    )
    positions = np.array([6, 7, 8, 9, *range(8)])
    queries, keys = expected(projected["qkv"], positions, projected["q_norm"], projected["k_norm"])
    np.testing.assert_allclose(out, queries, atol=5e-6)
    rows = [31, 32, 33, 34, *range(2, 10)]
    np.testing.assert_allclose(k[rows], keys, atol=5e-6)
    written = np.flatnonzero(k.any(axis=(1, 2)))
    np.testing.assert_array_equal(written, np.sort(rows))

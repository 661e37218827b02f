"""Attention ops against torch's, which knows nothing of stages, packing or slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import scaled_dot_product_attention

import xgr

Array = NDArray[Any]
RT = xgr.runtime("cpu")
HEADS, GROUPS, SIZE = 6, 3, 16
KERNELS = ["cpu_ref.reference", "cpu_ref.fast"]


def numbers(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def attention(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """q [n, H, d] over k, v [L, G, d]; mask [n, L] of what is seen."""
    query, key, value = (torch.from_numpy(x).transpose(0, 1)[None] for x in (q, k, v))
    seen = None if mask is None else torch.from_numpy(mask)
    out = scaled_dot_product_attention(query, key, value, seen, enable_gqa=True)
    result: Array = out[0].transpose(0, 1).numpy()
    return result


@pytest.mark.parametrize("kernel", KERNELS)
def test_prefill_equals_torch_per_request(kernel: str) -> None:
    rng = np.random.default_rng(0)
    lengths, cached = [70, 1, 33], [0, 0, 20]
    starts = [40, 7, 115]
    q_start = np.cumsum([0, *(n - c for n, c in zip(lengths, cached, strict=True))])
    q = numbers(rng, int(q_start[-1]), HEADS, SIZE)
    k, v = numbers(rng, 150, GROUPS, SIZE), numbers(rng, 150, GROUPS, SIZE)
    for causal in (True, False):
        out = np.empty_like(q)
        RT.prefill_attention(
            q=q,
            k=k,
            v=v,
            q_start=q_start.astype(np.int32),
            prompt_start=np.array(starts, np.int32),
            prompt_len=np.array(lengths, np.int32),
            causal=causal,
            max_distance=128,
            scale=SIZE**-0.5,
            out=out,
            kernel=kernel,
        )
        for b, (start, length, known) in enumerate(zip(starts, lengths, cached, strict=True)):
            keys, rows = slice(start, start + length), slice(q_start[b], q_start[b + 1])
            position = np.arange(known, length)[:, None]
            seen = np.arange(length) <= position if causal else None
            expected = attention(q[rows], k[keys], v[keys], seen)
            np.testing.assert_allclose(out[rows], expected, atol=2e-6)


def staged(kernel: str | None, values: dict[str, Any]) -> tuple[Array, Array]:
    """staged_attention by its definition, or as three stages where kernel is their technique."""
    out = np.empty_like(values["q"])
    lse = np.empty(out.shape[:2], np.float32)
    if kernel == "cpu_ref.reference":
        RT.staged_attention(**values, out=out, lse=lse, kernel=kernel)
        return out, lse
    outs, lses = [np.empty_like(out) for _ in range(2)], [np.empty_like(lse) for _ in range(2)]
    own = {"k_unshared", "v_unshared", "ancestors", "step"}
    RT.shared_attention(
        **{n: v for n, v in values.items() if n not in own},
        out=outs[0], lse=lses[0], kernel=kernel,
    )  # fmt: skip
    named = ("q", "row_start", "live", "ancestors", "step", "scale")
    RT.unshared_attention(
        **{n: values[n] for n in named},
        k=values["k_unshared"], v=values["v_unshared"], out=outs[1], lse=lses[1], kernel=kernel,
    )  # fmt: skip
    RT.merge_attention(outs=outs, lses=lses, out=out, lse=lse, kernel=kernel)
    return out, lse


@pytest.mark.parametrize("kernel", KERNELS)
def test_stages_equal_one_softmax_over_each_beams_own_sequence(kernel: str) -> None:
    rng = np.random.default_rng(1)
    rows, slots, step = 12, 3, 2
    row_start, live = np.array([0, 5, 12], np.int32), np.array([5, 4], np.int32)
    starts, lengths = [30, 4], [21, 9]
    ancestors = np.concatenate(
        [rng.integers(0, 5, (5, slots)), rng.integers(5, 12, (7, slots))]
    ).astype(np.int32)
    values: dict[str, Any] = {
        "q": numbers(rng, rows, HEADS, SIZE),
        "k": numbers(rng, 60, GROUPS, SIZE),
        "v": numbers(rng, 60, GROUPS, SIZE),
        "k_unshared": numbers(rng, rows, slots, GROUPS, SIZE),
        "v_unshared": numbers(rng, rows, slots, GROUPS, SIZE),
        "prompt_start": np.array(starts, np.int32),
        "prompt_len": np.array(lengths, np.int32),
        "row_start": row_start,
        "live": live,
        "ancestors": ancestors,
        "step": step,
        "scale": SIZE**-0.5,
    }
    out, lse = staged(kernel, values)
    for b, count in enumerate(live):
        prompt = slice(starts[b], starts[b] + lengths[b])
        for row in range(row_start[b], row_start[b] + count):
            holders = ancestors[row, :step]
            k, v = (
                np.concatenate([values[n][prompt], values[f"{n}_unshared"][holders, range(step)]])
                for n in ("k", "v")
            )
            expected = attention(values["q"][row : row + 1], k, v)[0]
            np.testing.assert_allclose(out[row], expected, atol=2e-6)
    assert not out[9:].any()
    assert np.isneginf(lse[9:]).all()


def test_a_plan_of_another_batch_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    arguments: dict[str, Any] = {
        "q": numbers(rng, 8, HEADS, SIZE),
        "k": numbers(rng, 40, GROUPS, SIZE),
        "v": numbers(rng, 40, GROUPS, SIZE),
        "prompt_start": np.array([3, 20], np.int32),
        "prompt_len": np.array([11, 17], np.int32),
        "row_start": np.array([0, 3, 8], np.int32),
        "live": np.array([3, 5], np.int32),
        "scale": 0.25,
    }
    results = []
    for plan in (([3, 20], [11, 17], [3, 5]), ([0, 5], [2, 30], [7, 1])):
        out, lse = np.empty_like(arguments["q"]), np.empty((8, HEADS), np.float32)
        arguments |= {"out": out, "lse": lse}
        problem = RT.problem("shared_attention", **arguments)
        bound = RT.bind("shared_attention", problem, "cpu_ref.fast")
        bound.plan(*plan)
        bound(**arguments)
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])

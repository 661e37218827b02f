"""What an engine asks of a device, added up for a published shape on arrays without values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from xgr import Runtime
from xgr.backends.null.backend import NullBackend
from xgr.bench.synthetic import config
from xgr.catalog.synthetic import random_catalogue
from xgr.engine import EngineConfig, Request
from xgr.engine.engine import Engine
from xgr.models.decoder import Decoder

LEVELS, TOKENS = (8192,) * 3, 1024
CATALOGUE = random_catalogue("random:2000:3x8192")
# what kernels and libraries keep besides: workspaces of cuBLAS for two streams, of attention and
# of the beam step, graphs
BESIDES = 300_000_000


class Shapes:
    """A checkpoint that has the shape of whatever is asked of it."""

    def require(self, names: Iterable[str]) -> None: ...

    def take(self, name: str, shape: Sequence[int]) -> Any:
        return SimpleNamespace(shape=tuple(shape))

    def finish(self, *, tied_embeddings: bool = False) -> None: ...


def used(width: int, **limits: Any) -> tuple[int, Decoder]:
    """Bytes after a batch of one request of a Qwen3 of 4 billion weights."""
    rt = Runtime("null", NullBackend())
    shape = config("qwen3-4b", LEVELS)
    decoder = Decoder.assemble(rt, shape, Shapes())
    first = shape.vocab_size - sum(LEVELS)
    ids = [range(first + 8192 * at, first + 8192 * (at + 1)) for at in range(3)]
    limits = {"max_tokens": TOKENS, "max_rows": width, "max_requests": 1} | limits
    engine = Engine(rt, decoder, ids, EngineConfig(**limits))
    request = engine.prepare(Request([1] * TOKENS, width), CATALOGUE)
    engine.launch([request], CATALOGUE)
    return rt.memory().used, decoder


def per_token(decoder: Decoder) -> int:
    c = decoder.config
    return 2 * c.num_layers * c.num_kv_heads * c.head_dim * decoder.dtype.itemsize


def test_four_billion_weights_and_512_beams_fit_9_gigabytes() -> None:
    whole, decoder = used(512)
    weights = sum(
        2 * size
        for layer in decoder.layers
        for array in (layer.qkv, layer.output, layer.gate_up, layer.down)
        for size in [array.shape[0] * array.shape[1]]
    )
    weights += 2 * decoder.head.shape[0] * decoder.head.shape[1]
    arena = per_token(decoder) * TOKENS
    assert whole < 9_200_000_000 - BESIDES
    assert whole < weights + arena + 512 * (2 * per_token(decoder) + 65536) + 150_000_000


@pytest.mark.parametrize("kv_mode", ["ancestors", "reorder"])
def test_a_beam_costs_its_tokens_and_little_more(kv_mode: str) -> None:
    (less, decoder), (more, _) = used(128, kv_mode=kv_mode), used(512, kv_mode=kv_mode)
    assert (more - less) / (512 - 128) <= 2 * per_token(decoder) + 65536


def test_the_arena_is_what_its_budget_says() -> None:
    (less, decoder), (more, _) = used(128), used(128, max_tokens=2 * TOKENS)
    work = 2 * (3 * decoder.config.hidden_size + 3 * decoder.config.intermediate_size)
    ids = 4
    assert more - less == TOKENS * (per_token(decoder) + work + ids)

"""Models of published shapes with random weights: what speed and memory need of a checkpoint.

Nothing is downloaded and nothing is written. The text part of the vocabulary is followed by the
codes of every level, in order, as a GR checkpoint adds them to its base model.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from xgr.backends.host import NUMPY_TYPES
from xgr.errors import InputError
from xgr.models.config import DecoderConfig
from xgr.models.decoder import Decoder
from xgr.ops.dtype import MODEL_DTYPES
from xgr.runtime import Runtime

_QWEN3: Final = {
    "architectures": ["Qwen3ForCausalLM"],
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
    "rope_theta": 1_000_000,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 40960,
    "dtype": "bfloat16",
    "text_tokens": 151_669,  # of the tokenizer; the published 151,936 rows are padded
}


def _qwen3(hidden: int, layers: int, heads: int, intermediate: int) -> dict[str, Any]:
    own = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
    return {**_QWEN3, **own, "intermediate_size": intermediate}


# name -> config.json, with `text_tokens` in the place of vocab_size
SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "qwen3-0.6b": _qwen3(1024, 28, 16, 3072),
    "qwen3-1.7b": _qwen3(2048, 28, 16, 6144),
    "qwen3-4b": _qwen3(2560, 36, 32, 9728),
    "qwen3-tiny": {
        **_qwen3(64, 2, 4, 128),
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 2048,
        "text_tokens": 253,
    },
}
# rows of the vocabulary come in multiples of this, as trainers pad them
_VOCAB_GRANULE: Final = 64
# values drawn for a scale. Prime, so that no two rows of a matrix begin at the same value.
_BLOCK: Final = 4_194_301
# standard deviation of the logits: neither flat nor peaked, the best of 8192 codes has about 10 %
_LOGIT_DEVIATION: Final = 2.5


def config(name: str, level_sizes: Sequence[int], layers: int | None = None) -> DecoderConfig:
    """The shape of a published model whose vocabulary has the codes of each level besides.

    Args:
        name: a key of `SHAPES`.
        level_sizes: codes of each level.
        layers: decoder layers; as published when None.

    Raises:
        InputError: unknown name, with the known ones.
    """
    shape = SHAPES.get(name)
    if shape is None:
        raise InputError(f"model {name!r} has no known shape; known: {', '.join(SHAPES)}")
    vocab = shape["text_tokens"] + sum(level_sizes)
    own = {"vocab_size": -(-vocab // _VOCAB_GRANULE) * _VOCAB_GRANULE}
    if layers is not None:
        own["num_hidden_layers"] = layers
    return DecoderConfig.from_dict({**shape, **own}, name)


def code_tokens(name: str, level_sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Per level, the token id of each code."""
    first, levels = SHAPES[name]["text_tokens"], []
    for size in level_sizes:
        levels.append(tuple(range(first, first + size)))
        first += size
    return tuple(levels)


def decoder(
    rt: Runtime,
    name: str,
    level_sizes: Sequence[int],
    *,
    dtype: str | None = None,
    layers: int | None = None,
    seed: int = 0,
) -> Decoder:
    """A decoder of a published shape with random weights on a device.

    Raises:
        InputError: unknown name or dtype.
    """
    shape = config(name, level_sizes, layers)
    kind = dtype or shape.dtype
    return Decoder.assemble(rt, shape, RandomTensors(shape, kind, seed), kind)


class RandomTensors:
    """Random weights by name, made when they are taken; a `xgr.models.weights.Tensors`.

    Norms are 1. A matrix is normal with deviation 1 / sqrt(columns), so that a layer adds a bounded
    variance to the residual stream; the embedding's (and head's) is such that logits have deviation
    2.5. Drawing billions of normals would take minutes: of each deviation one block of 4,194,301
    values is drawn, and a tensor is that block from an offset of its own on, repeated. The length
    is prime, so that rows of one matrix are windows of the block and no two of them are equal.

    Args:
        config: the decoder's shape.
        dtype: of what `take` returns, "float32", "bfloat16" or "float16".
        seed: equal seeds give equal weights.
    """

    def __init__(self, config: DecoderConfig, dtype: str, seed: int = 0) -> None:
        if dtype not in MODEL_DTYPES:
            raise InputError(f"dtype is {dtype!r}, allowed: {', '.join(MODEL_DTYPES)}")
        self._config, self._seed = config, seed
        self._dtype = np.dtype(NUMPY_TYPES[dtype])
        self._normal: NDArray[np.float32] | None = None
        self._space = np.empty(0, self._dtype)
        self._blocks: dict[float, NDArray[Any]] = {}

    def require(self, names: Iterable[str]) -> None:
        """Every tensor exists."""

    def take(self, name: str, shape: Sequence[int]) -> NDArray[Any]:
        """One tensor; the next call writes over it."""
        if name.endswith("norm.weight"):
            return np.ones(tuple(shape), self._dtype)
        if name.endswith(".bias"):
            return np.zeros(tuple(shape), self._dtype)
        vocab = name in ("model.embed_tokens.weight", "lm_head.weight")
        block = self._block((_LOGIT_DEVIATION if vocab else 1.0) * shape[-1] ** -0.5)
        begin = zlib.crc32(f"{self._seed} {name}".encode()) % _BLOCK
        size, done = prod(shape), 0
        if size > len(self._space):
            # kept: to touch new memory for every tensor takes longer than to fill it
            self._space = np.empty(size, self._dtype)
        while done < size:
            part = block[begin : begin + size - done]
            self._space[done : done + len(part)] = part
            done, begin = done + len(part), 0
        return self._space[:size].reshape(tuple(shape))

    def finish(self, *, tied_embeddings: bool = False) -> None:
        """Nothing can be left behind."""

    def _block(self, deviation: float) -> NDArray[Any]:
        if self._normal is None:
            rng = np.random.default_rng(self._seed)
            self._normal = rng.standard_normal(_BLOCK, dtype=np.float32)
        if deviation not in self._blocks:
            self._blocks[deviation] = (self._normal * np.float32(deviation)).astype(self._dtype)
        return self._blocks[deviation]

"""Weights of a decoder as the runtime's arrays: read from a checkpoint, checked, fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.errors import InputError
from xgr.models.config import DecoderConfig
from xgr.models.rope import inverse_frequencies
from xgr.models.weights import Tensors, Weights
from xgr.ops.array import Array
from xgr.ops.dtype import MODEL_DTYPES, DType, dtype, float32
from xgr.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of one layer; q, k, v and gate, up are fused along their output axis.

    Shapes, with Q = (H + 2 G) d: qkv [Q, h], qkv_bias [Q], output [h, H d], gate_up [2 I, h],
    down [h, I], norms [h], q_norm and k_norm [d]. Absent parts are None, and so are norms whose
    gains qkv and gate_up hold.
    """

    input_norm: Array | None
    qkv: Array
    qkv_bias: Array | None
    q_norm: Array | None
    k_norm: Array | None
    output: Array
    output_bias: Array | None
    mlp_norm: Array | None
    gate_up: Array
    gate_up_bias: Array | None
    down: Array
    down_bias: Array | None


@dataclass(frozen=True, slots=True)
class Decoder:
    """A loaded decoder.

    Attributes:
        config: its shape.
        dtype: float type of weights and activations.
        embedding: [V, h].
        layers: one `Layer` a layer.
        norm: final norm [h].
        head: [V, h]; the embedding itself when tied.
        cos, sin: float32 [P, d / 2], rotary tables of every position.
        norms_behind: the gains of the layers' norms are in the weights of qkv and gate_up, and what
            reads these products divides them by the RMS of their input.
    """

    config: DecoderConfig
    dtype: DType
    embedding: Array
    layers: tuple[Layer, ...]
    norm: Array
    head: Array
    cos: Array
    sin: Array
    norms_behind: bool

    @classmethod
    def load(
        cls,
        rt: Runtime,
        model_dir: str | Path,
        dtype_name: str | None = None,
        positions: int | None = None,
    ) -> Decoder:
        """Read config and weights of a Hugging Face folder.

        Args:
            rt: where the weights go.
            model_dir: folder with config.json and safetensors.
            dtype_name: "float32", "bfloat16" or "float16"; the checkpoint's own when None.
            positions: length of the rotary tables; the model's limit when None.

        Raises:
            InputError: another dtype.
            ModelError: unknown architecture or setting, missing, misshapen or unused weights.
        """
        config = DecoderConfig.load(model_dir)
        return cls.assemble(rt, config, Weights.open(model_dir), dtype_name, positions)

    @classmethod
    def assemble(
        cls,
        rt: Runtime,
        config: DecoderConfig,
        weights: Tensors,
        dtype_name: str | None = None,
        positions: int | None = None,
    ) -> Decoder:
        """Take every tensor that a config asks for; arguments and errors as those of `load`."""
        if dtype_name is not None and dtype_name not in MODEL_DTYPES:
            raise InputError(f"dtype is {dtype_name!r}, allowed: {', '.join(MODEL_DTYPES)}")
        loader = _Loader(rt, weights, config, dtype(dtype_name or config.dtype))
        weights.require(loader.names())
        cos, sin = _rope(rt, config, positions or config.max_positions)
        h, vocab = config.hidden_size, config.vocab_size
        embedding = loader.tensor("model.embed_tokens.weight", (vocab, h))
        head = embedding if config.tied_embeddings else loader.tensor("lm_head.weight", (vocab, h))
        layers = tuple(loader.layer(i) for i in range(config.num_layers))
        norm = loader.tensor("model.norm.weight", (h,))
        weights.finish(tied_embeddings=config.tied_embeddings)
        return cls(
            config, loader.dtype, embedding, layers, norm, head, cos, sin, loader.norms_behind
        )


def norms_behind(rt: Runtime, dtype_name: str) -> bool:
    """Whether norms come behind products where these have no bias, which would be divided too.

    Sums of what is not normed may exceed the range of float16.
    """
    return rt.backend.norms_behind and dtype_name != "float16"


def _rope(rt: Runtime, config: DecoderConfig, positions: int) -> tuple[Array, Array]:
    frequencies, scaling = inverse_frequencies(config.rope, config.head_dim, config.max_positions)
    cos = rt.empty((positions, len(frequencies)), float32)
    sin = rt.empty((positions, len(frequencies)), float32)
    inv_freq = rt.upload(list(frequencies), float32)
    rt.rope_table(inv_freq=inv_freq, scaling=scaling, cos=cos, sin=sin)
    return cos, sin


class _Loader:
    """Names and shapes of the checkpoint's tensors, and their fusion."""

    def __init__(self, rt: Runtime, weights: Tensors, config: DecoderConfig, kind: DType) -> None:
        self._rt, self._weights, self._config, self.dtype = rt, weights, config, kind
        biased = config.qkv_bias or config.output_bias or config.mlp_bias
        self.norms_behind = norms_behind(rt, kind.name) and not biased

    def names(self) -> list[str]:
        """Every tensor that the config says must be there."""
        c = self._config
        names = ["model.embed_tokens.weight", "model.norm.weight"]
        names += [] if c.tied_embeddings else ["lm_head.weight"]
        parts = ["input_layernorm.weight", "post_attention_layernorm.weight"]
        parts += [f"self_attn.{p}_proj.weight" for p in "qkvo"]
        parts += [f"mlp.{p}_proj.weight" for p in ("gate", "up", "down")]
        parts += [f"self_attn.{p}_proj.bias" for p in "qkv" if c.qkv_bias]
        parts += ["self_attn.o_proj.bias"] if c.output_bias else []
        parts += [f"mlp.{p}_proj.bias" for p in ("gate", "up", "down") if c.mlp_bias]
        parts += [f"self_attn.{p}_norm.weight" for p in "qk" if c.qk_norm]
        return names + [f"model.layers.{i}.{p}" for i in range(c.num_layers) for p in parts]

    def tensor(self, name: str, shape: tuple[int, ...]) -> Array:
        """One tensor as it is."""
        return self._rt.upload(self._weights.take(name, shape), self.dtype)

    def layer(self, index: int) -> Layer:
        """One layer, fused."""
        c, at = self._config, f"model.layers.{index}."
        h, inner, d = c.hidden_size, c.intermediate_size, c.head_dim
        heads = (c.num_heads * d, c.num_kv_heads * d, c.num_kv_heads * d)
        attn, mlp = at + "self_attn.", at + "mlp."
        qkv = list(zip((f"{attn}{p}_proj" for p in "qkv"), heads, strict=True))
        gate_up = [(f"{mlp}gate_proj", inner), (f"{mlp}up_proj", inner)]
        return Layer(
            input_norm=self._norm(f"{at}input_layernorm.weight"),
            qkv=self._fused(qkv, h, f"{at}input_layernorm.weight"),
            qkv_bias=self._fused_bias(qkv) if c.qkv_bias else None,
            q_norm=self.tensor(f"{attn}q_norm.weight", (d,)) if c.qk_norm else None,
            k_norm=self.tensor(f"{attn}k_norm.weight", (d,)) if c.qk_norm else None,
            output=self.tensor(f"{attn}o_proj.weight", (h, heads[0])),
            output_bias=self.tensor(f"{attn}o_proj.bias", (h,)) if c.output_bias else None,
            mlp_norm=self._norm(f"{at}post_attention_layernorm.weight"),
            gate_up=self._fused(gate_up, h, f"{at}post_attention_layernorm.weight"),
            gate_up_bias=self._fused_bias(gate_up) if c.mlp_bias else None,
            down=self.tensor(f"{mlp}down_proj.weight", (h, inner)),
            down_bias=self.tensor(f"{mlp}down_proj.bias", (h,)) if c.mlp_bias else None,
        )

    def _norm(self, name: str) -> Array | None:
        return None if self.norms_behind else self.tensor(name, (self._config.hidden_size,))

    def _fused(self, parts: Sequence[tuple[str, int]], columns: int, norm: str) -> Array:
        """Products of the output of a norm; with its gain where it comes behind them."""
        whole = self._rt.empty((sum(rows for _, rows in parts), columns), self.dtype)
        gain: Any = 1
        if self.norms_behind:
            # a copy: the next tensor may be in the same place
            gain = self._weights.take(norm, (columns,)).astype("float32", copy=True)
        at = 0
        for name, rows in parts:
            host = self._weights.take(f"{name}.weight", (rows, columns))
            if self.norms_behind:
                host = host.astype("float32") * gain
            self._rt.write(whole[at : at + rows], host)
            at += rows
        return whole

    def _fused_bias(self, parts: Sequence[tuple[str, int]]) -> Array:
        whole = self._rt.empty((sum(rows for _, rows in parts),), self.dtype)
        at = 0
        for name, rows in parts:
            self._rt.write(whole[at : at + rows], self._weights.take(f"{name}.bias", (rows,)))
            at += rows
        return whole

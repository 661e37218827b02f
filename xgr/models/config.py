"""The shape of a decoder, read from the config.json of a Hugging Face checkpoint.

A setting that changes the numbers and that the decoder does not do is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from xgr.errors import ModelError
from xgr.models.folder import Fields, read_json
from xgr.models.rope import RopeConfig, read_rope

ARCHITECTURES: Final = {
    "Qwen3ForCausalLM": "qwen3",
    "Qwen2ForCausalLM": "qwen2",
    "LlamaForCausalLM": "llama",
}
DTYPES: Final = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Shape and constants of a Qwen3 / Qwen2 / Llama decoder.

    Sampling defaults (top_k, top_p, temperature) that a checkpoint carries in
    generation_config.json are not read on purpose: the beam search is exact, and a truncated
    distribution would hide legal items from it.

    Attributes:
        architecture: the class name in config.json.
        vocab_size: rows of the embedding and of the head, padding rows included.
        hidden_size: width of the residual stream.
        num_layers: decoder layers.
        num_heads: query heads.
        num_kv_heads: key and value heads; divides num_heads.
        head_dim: size of a head, even.
        intermediate_size: width of the gated MLP.
        rms_norm_eps: epsilon of every RMS norm.
        qk_norm: each head's query and key pass an RMS norm before the rotation (Qwen3).
        qkv_bias: q_proj, k_proj and v_proj have biases.
        output_bias: o_proj has a bias.
        mlp_bias: gate_proj, up_proj and down_proj have biases.
        tied_embeddings: the head is the embedding.
        rope: rotary scaling.
        max_positions: positions a prompt and its decoded codes may use together.
        bos_token_id: begin-of-sequence id, None when the checkpoint states none.
        eos_token_ids: end-of-sequence ids, empty when the checkpoint states none.
        pad_token_id: padding id, None when the checkpoint states none.
        dtype: the dtype the checkpoint states: float32, bfloat16 or float16.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    rms_norm_eps: float
    qk_norm: bool
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    tied_embeddings: bool
    rope: RopeConfig
    max_positions: int
    bos_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()
    pad_token_id: int | None = None
    dtype: str = "float32"

    @classmethod
    def load(cls, model_dir: str | Path) -> DecoderConfig:
        """Read `model_dir/config.json`.

        Raises:
            ModelError: missing or broken file, unknown architecture, a missing or wrong value,
                or a setting that the decoder does not do.
        """
        path = Path(model_dir) / "config.json"
        return cls.from_dict(read_json(path), str(path))

    @classmethod
    def from_dict(cls, data: dict[str, Any], source: str = "config.json") -> DecoderConfig:
        """The config in a parsed config.json; `source` names it in errors, as in `load`."""
        fields = Fields(data, source)
        architecture = _architecture(fields)
        family = ARCHITECTURES[architecture]
        _refuse_what_is_not_done(fields)
        num_heads = fields.integer("num_attention_heads")
        num_kv_heads = fields.integer("num_key_value_heads", num_heads)
        hidden_size = fields.integer("hidden_size")
        # Qwen3's heads are 128 wide where its config says nothing, whatever the hidden size.
        head_dim = fields.integer(
            "head_dim", 128 if family == "qwen3" else hidden_size // num_heads
        )
        if num_heads % num_kv_heads:
            raise fields.wrong("num_key_value_heads", num_kv_heads, f"a divisor of {num_heads}")
        if head_dim % 2:
            raise fields.wrong("head_dim", head_dim, "an even number")
        biased = family != "qwen2" and fields.flag("attention_bias", False)
        stated_positions = fields.integer("max_position_embeddings")
        rope = read_rope(fields, stated_positions)
        return cls(
            architecture=architecture,
            vocab_size=fields.integer("vocab_size"),
            hidden_size=hidden_size,
            num_layers=fields.integer("num_hidden_layers"),
            num_heads=num_heads,
            num_kv_heads=num_kv_heads,
            head_dim=head_dim,
            intermediate_size=fields.integer("intermediate_size"),
            rms_norm_eps=fields.number("rms_norm_eps", 1e-6),
            qk_norm=family == "qwen3",
            qkv_bias=biased or family == "qwen2",
            output_bias=biased,
            mlp_bias=family == "llama" and fields.flag("mlp_bias", False),
            tied_embeddings=fields.flag("tie_word_embeddings", False),
            rope=rope,
            max_positions=rope.max_positions(stated_positions),
            bos_token_id=_first(fields.token_ids("bos_token_id")),
            eos_token_ids=fields.token_ids("eos_token_id"),
            pad_token_id=_first(fields.token_ids("pad_token_id")),
            dtype=_dtype(fields),
        )


def _architecture(fields: Fields) -> str:
    named = fields.get("architectures")
    if named is None:
        model_type = fields.get("model_type")
        named = [name for name, family in ARCHITECTURES.items() if family == model_type]
    if not isinstance(named, list) or len(named) != 1 or named[0] not in ARCHITECTURES:
        got = named or f"none, with model_type {fields.get('model_type')!r}"
        raise ModelError(
            f"{fields.source}: architecture {got} is not known; known: {', '.join(ARCHITECTURES)}"
        )
    return str(named[0])


def _refuse_what_is_not_done(fields: Fields) -> None:
    activation = fields.get("hidden_act") or "silu"
    if activation != "silu":
        raise fields.wrong("hidden_act", activation, "'silu'")
    if fields.get("quantization_config") is not None:
        raise fields.wrong(
            "quantization_config",
            fields.get("quantization_config"),
            "plain float32, bfloat16 or float16 weights: save the checkpoint dequantised",
        )
    if fields.integer("pretraining_tp", 1) > 1:
        raise fields.wrong("pretraining_tp", fields.get("pretraining_tp"), "1")
    layer_types = fields.get("layer_types")
    if layer_types is not None and any(kind != "full_attention" for kind in layer_types):
        other = sorted({str(kind) for kind in layer_types} - {"full_attention"})
        raise fields.wrong("layer_types", other, "'full_attention' in every layer")
    windowed = fields.flag("use_sliding_window", False) and fields.get("sliding_window") is not None
    first = fields.integer("max_window_layers", 28, minimum=0)
    if windowed and layer_types is None and first < fields.integer("num_hidden_layers"):
        raise fields.wrong("use_sliding_window", True, "false (a sliding window is not done)")


def _dtype(fields: Fields) -> str:
    name = fields.get("dtype") or fields.get("torch_dtype") or "float32"
    name = str(name).removeprefix("torch.")
    if name not in DTYPES:
        raise fields.wrong("dtype", name, f"one of {', '.join(DTYPES)}")
    return name


def _first(ids: tuple[int, ...]) -> int | None:
    return ids[0] if ids else None

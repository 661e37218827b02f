"""Rotary embedding: the scaling kinds that the Qwen3 / Qwen2 / Llama family uses, in plain Python.

Rotation of pair i of a head at position p is by the angle p * inverse_frequency[i]; cos and sin
are multiplied by the attention scaling. Everything here happens once, at load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

from xgr.errors import ModelError
from xgr.models.folder import Fields

RopeKind = Literal["default", "linear", "dynamic", "yarn", "llama3"]
KINDS: Final[tuple[RopeKind, ...]] = get_args(RopeKind)


@dataclass(frozen=True, slots=True)
class RopeConfig:
    """How positions turn into angles; fields that a kind does not use keep their defaults.

    Attributes:
        kind: scaling kind.
        theta: base of the geometric sequence of frequencies.
        factor: stretch of the context (linear, yarn, llama3); dynamic ignores it, see
            `inverse_frequencies`.
        original_max_positions: positions of the pretraining, before any stretch.
        attention_factor: yarn's factor of cos and sin; None derives it.
        mscale: yarn, numerator of the derived factor; 0 when absent.
        mscale_all_dim: yarn, denominator of the derived factor; 0 when absent.
        beta_fast: yarn, rotations above which a dimension is left as it is.
        beta_slow: yarn, rotations below which a dimension is fully stretched.
        truncate: yarn, round the borders of its ramp to whole dimensions.
        low_freq_factor: llama3, border of the fully stretched wavelengths.
        high_freq_factor: llama3, border of the wavelengths left as they are.
    """

    kind: RopeKind = "default"
    theta: float = 10000.0
    factor: float = 1.0
    original_max_positions: int = 0
    attention_factor: float | None = None
    mscale: float = 0.0
    mscale_all_dim: float = 0.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    def max_positions(self, stated: int) -> int:
        """Positions a model may use, given its config's `max_position_embeddings`.

        Only yarn extends the stated number: its published configs keep the number of the
        pretraining there. Elsewhere the stated number is the limit.
        """
        if self.kind == "yarn":
            return max(stated, int(self.original_max_positions * self.factor))
        return stated


def inverse_frequencies(
    rope: RopeConfig, head_dim: int, max_positions: int
) -> tuple[tuple[float, ...], float]:
    """Inverse frequencies of the head_dim / 2 rotated pairs, and the factor of cos and sin.

    Args:
        rope: the scaling.
        head_dim: size of a head, even.
        max_positions: positions that will be asked for.

    Returns:
        head_dim / 2 floats in radians a position, and the attention scaling.

    Raises:
        ModelError: odd head_dim, or dynamic scaling beyond its pretraining length. There the
            frequencies depend on the length of the prompt, so that one prompt's keys would differ
            with what it is batched with; below that length dynamic equals default.
    """
    if head_dim % 2:
        raise ModelError(f"head_dim is {head_dim}: rotary embedding needs an even number")
    plain = tuple(rope.theta ** (-i / head_dim) for i in range(0, head_dim, 2))
    if rope.kind == "linear":
        return tuple(f / rope.factor for f in plain), 1.0
    if rope.kind == "llama3":
        return tuple(_llama3(f, rope) for f in plain), 1.0
    if rope.kind == "yarn":
        return _yarn(plain, rope, head_dim), _yarn_attention_scaling(rope)
    if rope.kind == "dynamic" and max_positions > rope.original_max_positions:
        raise ModelError(
            f"dynamic rope scaling: {max_positions} positions asked, but only "
            f"{rope.original_max_positions} have fixed frequencies; shorten the prompts, or give "
            'the checkpoint a fixed scaling such as rope_type "yarn"'
        )
    return plain, 1.0


def read_rope(config: Fields, max_positions: int) -> RopeConfig:
    """The RopeConfig of a config.json, in its older and its newer form.

    Older: `rope_theta` beside `rope_scaling` with `type` or `rope_type`. Newer: `rope_parameters`
    with `rope_theta` and `rope_type` inside. An absent theta is 10000, as these families define.

    Args:
        config: the keys of config.json.
        max_positions: its `max_position_embeddings`, the default of the pretraining length.

    Raises:
        ModelError: unknown kind, partial rotation, one rope per layer type, or a bad value.
    """
    scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if not isinstance(scaling, dict):
        raise config.wrong("rope_scaling", scaling, "an object")
    nested = [key for key, value in scaling.items() if isinstance(value, dict)]
    if nested:
        raise config.wrong("rope_parameters", nested, "one rope for all layers, not one a type")
    fields = Fields(scaling, f"{config.source}, rope")
    for part in (config, fields):
        if part.number("partial_rotary_factor", 1.0) != 1.0:
            got = part.get("partial_rotary_factor")
            raise part.wrong("partial_rotary_factor", got, "1.0 (partial rotation is not done)")
    theta = fields.number("rope_theta", config.number("rope_theta", 10000.0))
    name = fields.get("rope_type") or fields.get("type") or "default"
    if name not in KINDS:
        raise fields.wrong("rope_type", name, f"one of {', '.join(KINDS)}")
    kind: RopeKind = name
    original = config.get("original_max_position_embeddings") or fields.get(
        "original_max_position_embeddings"
    )
    if kind in {"default", "linear", "dynamic"} or original is None:
        original = max_positions
    if isinstance(original, bool) or not isinstance(original, int) or original < 1:
        raise fields.wrong("original_max_position_embeddings", original, "a positive integer")
    return _scaled(kind, theta, original, max_positions, fields)


def _scaled(
    kind: RopeKind, theta: float, original: int, max_positions: int, fields: Fields
) -> RopeConfig:
    if kind == "default":
        return RopeConfig(kind, theta, original_max_positions=original)
    if kind == "yarn":
        given = fields.get("attention_factor")
        return RopeConfig(
            kind,
            theta,
            fields.number("factor", max_positions / original),
            original,
            attention_factor=None if given is None else fields.number("attention_factor"),
            mscale=fields.number("mscale") if fields.get("mscale") else 0.0,
            mscale_all_dim=fields.number("mscale_all_dim") if fields.get("mscale_all_dim") else 0.0,
            beta_fast=fields.number("beta_fast", 32.0),
            beta_slow=fields.number("beta_slow", 1.0),
            truncate=fields.flag("truncate", True),
        )
    factor = fields.number("factor")
    if kind != "llama3":
        return RopeConfig(kind, theta, factor, original)
    low, high = fields.number("low_freq_factor"), fields.number("high_freq_factor")
    if high <= low:
        raise fields.wrong("high_freq_factor", high, f"more than low_freq_factor ({low})")
    return RopeConfig(kind, theta, factor, original, low_freq_factor=low, high_freq_factor=high)


def _llama3(frequency: float, rope: RopeConfig) -> float:
    """Long wavelengths are stretched, short ones left, those between interpolated."""
    wavelength = 2 * math.pi / frequency
    if wavelength < rope.original_max_positions / rope.high_freq_factor:
        return frequency
    if wavelength > rope.original_max_positions / rope.low_freq_factor:
        return frequency / rope.factor
    turns = rope.original_max_positions / wavelength
    smooth = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    return (1 - smooth) * frequency / rope.factor + smooth * frequency


def _yarn(plain: tuple[float, ...], rope: RopeConfig, head_dim: int) -> tuple[float, ...]:
    """A linear ramp over the dimensions from left as they are to fully stretched."""

    def dimension_of(turns: float) -> float:
        ratio = rope.original_max_positions / (turns * 2 * math.pi)
        return head_dim * math.log(ratio) / (2 * math.log(rope.theta))

    low, high = dimension_of(rope.beta_fast), dimension_of(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low == high:
        high += 0.001
    frequencies = []
    for i, frequency in enumerate(plain):
        stretched = min(max((i - low) / (high - low), 0.0), 1.0)
        frequencies.append(frequency / rope.factor * stretched + frequency * (1 - stretched))
    return tuple(frequencies)


def _yarn_attention_scaling(rope: RopeConfig) -> float:
    def scale(weight: float) -> float:
        return 1.0 if rope.factor <= 1 else 0.1 * weight * math.log(rope.factor) + 1.0

    if rope.attention_factor is not None:
        return rope.attention_factor
    if rope.mscale and rope.mscale_all_dim:
        return scale(rope.mscale) / scale(rope.mscale_all_dim)
    return scale(1.0)

"""One decode step as the ops that the engine binds for it, in order: for plans without a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xgr.errors import InputError
from xgr.ops.spec import Flag, Problem

AXES = {
    "B": "requests",
    "R": "beam rows of all requests",
    "T": "tokens of the arena",
    "S": "slots of a beam's own K/V",
    "L": "layers",
    "H": "query heads",
    "G": "K/V heads",
    "d": "size of a head",
    "h": "width of the residual stream",
    "I": "width of the gated MLP",
    "V": "rows of the head",
    "P": "positions",
    "M": "codes of the level before",
    "K": "codes of the level",
}


@dataclass(frozen=True, slots=True)
class Step:
    """An op of the step.

    Attributes:
        what: its part in the step.
        problem: what is bound.
        times: launches of it.
    """

    what: str
    problem: Problem
    times: int = 1


def decode_step(
    sizes: Mapping[str, int],
    dtype: str,
    kv_mode: str,
    *,
    normalize: str = "vocab",
    qk_norm: bool = True,
    norms_behind: bool = False,
    last: bool = True,
) -> Iterator[Step]:
    """From the beams of one level to those of the next: K/V follows, forward, head, beam step.

    An op that a device composes of others stands for them.

    Args:
        sizes: of every axis of `AXES`.
        dtype: the model's.
        kv_mode: "reorder" or "ancestors".
        normalize: as the engine's.
        qk_norm: query and key heads pass a norm, as in Qwen3.
        norms_behind: norms come behind products, as the backend says.
        last: the step of the last level, whose beams are ranked.

    Raises:
        InputError: an axis is missing or unknown.
    """
    missing, unknown = sorted(set(AXES) - set(sizes)), sorted(set(sizes) - set(AXES))
    if missing or unknown:
        known = ", ".join(f"{axis} ({meaning})" for axis, meaning in AXES.items())
        raise InputError(f"a step lacks {missing} and has unknown {unknown}; axes: {known}")
    a = dict(sizes)
    rows, heads, layers = a["R"], a["H"] * a["d"], a["L"]

    def of(op: str, axes: str, flags: Mapping[str, Flag] | None = None, **named: int) -> Problem:
        return Problem.of(op, dtype, flags or {}, **{x: a[x] for x in axes.split()}, **named)

    def linear(inner: int, outer: int) -> Problem:
        return Problem.of("linear", dtype, {"bias": False}, N=rows, I=inner, O=outer)

    def added(inner: int) -> Problem:
        return Problem.of("linear_add", dtype, N=rows, I=inner, O=a["h"])

    def norm(residual: bool) -> Problem:
        return of("rms_norm", "h", {"residual": residual}, N=rows)

    norms = {"q_norm": qk_norm, "k_norm": qk_norm, "hidden": norms_behind}
    turned = "R S H G d B P h" if norms_behind else "R S H G d B P"
    follows = {"ancestors": kv_mode == "ancestors"}
    if kv_mode == "ancestors":
        ints = Problem.of("beam_ancestors", "float32", {}, R=rows, S=a["S"], B=a["B"])
        yield Step("ancestors follow the beams", ints)
    else:
        yield Step("K/V of all layers follows the beams", of("kv_reorder", "L R S G d B"))
    yield Step("tokens of the beams", of("embed", "V h", {"map": True}, N=rows, M=a["M"]))
    if not norms_behind:
        yield Step("norm of the first layer", norm(False))
        if layers > 1:
            yield Step("norm of a layer, MLP output added", norm(True), layers - 1)
    yield Step("query, key and value", linear(a["h"], heads + 2 * a["G"] * a["d"]), layers)
    yield Step("rotation and K/V write", of("rope_kv", turned, norms), layers)
    yield Step("attention", of("staged_attention", "R H G d T S B", follows), layers)
    if norms_behind:
        yield Step("output projection, added", added(heads), layers)
        yield Step("gate and up, norm and gate", of("linear_swiglu", "I h", N=rows), layers)
        yield Step("down, added", added(a["I"]), layers)
    else:
        yield Step("output projection", linear(heads, a["h"]), layers)
        yield Step("norm of the MLP, attention added", norm(True), layers)
        yield Step("gate and up", linear(a["h"], 2 * a["I"]), layers)
        yield Step("gate", of("swiglu", "I", N=rows), layers)
        yield Step("down", linear(a["I"], a["h"]), layers)
    yield Step("final norm", norm(not norms_behind))
    yield Step("logits of the level", of("linear_logits", "R K h"))
    if normalize == "vocab":
        yield Step("log-sum-exp of the head", of("linear_lse", "R V h"))
    chosen: dict[str, Flag] = {"lse": normalize == "vocab", "trie": True, "filters": False}
    chosen |= {"normalize": normalize, "order": "rank" if last else "path"}
    # logits are float32, whatever the model's dtype
    step = Problem.of("beam_step", "float32", chosen, R=rows, RO=rows, K=a["K"], B=a["B"])
    yield Step("beam step", step)

"""Scores as integers that order like them, and the log-sum-exp of a row in parts."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.ops.beam_step import LEAST

# key of what is no candidate: below that of -inf
EMPTY = tl.constexpr(-0x80000000)
POSITIVE_INFINITY = tl.constexpr(0x7F800000)
# every NaN: above +inf, so that a maximum shows it
NAN = tl.constexpr(0x7FFFFFFF)

_LEAST = tl.constexpr(LEAST)
_GREATEST = tl.constexpr(3.4028234663852886e38)


@triton.jit
def key_of(x):
    """int32 that orders as float32 does; 0 and -0 are equal."""
    bits = tl.where(x == 0, 0.0, x).to(tl.int32, bitcast=True)
    size = bits & 0x7FFFFFFF
    return tl.where(size > POSITIVE_INFINITY, NAN, bits ^ ((bits >> 31) & 0x7FFFFFFF))


@triton.jit
def value_of(key):
    """The float32 of a key."""
    return (key ^ ((key >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)


@triton.jit
def score_key(key, base, norm, STRICT: tl.constexpr):
    """Key of the score of a logit's key; EMPTY stays. With `STRICT` -inf is no candidate.

    The score rises with the logit, so the best score of a tile is that of its best logit.
    """
    score = score_of(value_of(key), base, norm)
    legal = key != EMPTY
    if STRICT:
        legal &= score != -float("inf")
    return tl.where(legal, key_of(clamped(score)), EMPTY)


@triton.jit
def is_nan(x):
    """Whether numbers are none."""
    return x != x  # noqa: PLR0124 (only a NaN is not itself)


@triton.jit
def score_of(logit, base, norm):
    """Two roundings, as defined; not yet clamped."""
    return base + (logit - norm)


@triton.jit
def clamped(score):
    """At least the least legal score; a NaN stays a NaN."""
    return tl.where(score < _LEAST, _LEAST, score)


@triton.jit
def fold(top, total, x, best):
    """Add a block of logits, whose maximum is `best`, to a running log-sum-exp.

    The maximum passes over NaN, which the sum keeps.
    """
    new = tl.maximum(top, best)
    anchor = _anchor(new)
    # before the first block there is nothing to rescale, and 0 times inf is no number
    before = tl.where(total == 0, 0.0, total * tl.exp(_anchor(top) - anchor))
    return new, before + tl.sum(tl.exp(x - anchor))


@triton.jit
def closed(top, total):
    """Log-sum-exp of what was folded: 0 where no logit is above -inf.

    Where one is +inf it is the greatest number, which makes the same scores: +inf, or the least.
    """
    log = _anchor(top) + tl.log(tl.where(total == 0, 1.0, total))
    log = tl.where(top == float("inf"), _GREATEST, log)
    log = tl.where(is_nan(total), total, log)
    return tl.where(total == 0, 0.0, log)


@triton.jit
def _anchor(top):
    """The number that exponentials are taken over: 0 where the maximum is not finite."""
    return tl.where(tl.abs(top) < float("inf"), top, 0.0)

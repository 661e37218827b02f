"""Scores as integers that order like them, and the log-sum-exp of a row in parts."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# Kernels are typed by Triton, which has no types of Python's.

from __future__ import annotations

import triton
import triton.language as tl

from xgr.ops.beam_step import LEAST

# key of what is no candidate: below that of -inf
EMPTY = tl.constexpr(-0x80000000)
NEGATIVE_INFINITY = tl.constexpr(-0x7F800001)
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
def score_of(logit, base, norm):
    """Two roundings, as defined; not yet clamped."""
    return base + (logit - norm)


@triton.jit
def clamped(score):
    """At least the least legal score; a NaN stays a NaN."""
    return tl.where(score < _LEAST, _LEAST, score)


@triton.jit
def fold(top, total, x, key):
    """Add a block of logits to a running log-sum-exp: its greatest key, its sum over that."""
    new = tl.maximum(top, tl.max(key, 0))
    anchor = _anchor(new)
    # nothing yet is EMPTY, which is no number
    before = tl.where(total == 0, 0.0, total * tl.exp(_anchor(top) - anchor))
    return new, before + tl.sum(tl.exp(x - anchor), 0)


@triton.jit
def closed(top, total):
    """Log-sum-exp of parts along the last axis: 0 where no logit is above -inf.

    Where one is +inf it is the greatest number, which makes the same scores: +inf, or the least.
    """
    most = tl.max(top, 1)
    anchor = _anchor(most)
    shares = tl.where(total == 0, 0.0, total * tl.exp(_anchor(top) - anchor[:, None]))
    whole = tl.sum(shares, 1)
    log = anchor + tl.log(tl.where(whole == 0, 1.0, whole))
    log = tl.where(most == POSITIVE_INFINITY, _GREATEST, log)
    log = tl.where(most == NAN, float("nan"), log)
    return tl.where(most <= NEGATIVE_INFINITY, 0.0, log)


@triton.jit
def _anchor(key):
    """The number that exponentials are taken over: 0 where the key is no finite number's."""
    finite = (key > NEGATIVE_INFINITY) & (key < POSITIVE_INFINITY)
    return tl.where(finite, value_of(tl.where(finite, key, 0)), 0.0)

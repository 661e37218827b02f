"""The definitions of RMS norm and of the rotary embedding of one head."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def normalised(x: Array, weight: Array, eps: float) -> Array:
    """RMS norm of x over its last axis, float64."""
    result: Array = x.astype(np.float64) * inverse_rms(x, eps) * weight.astype(np.float64)
    return result


@np.errstate(invalid="ignore")
def inverse_rms(x: Array, eps: float) -> Array:
    """1 / sqrt(mean square + eps) over the last axis, which is kept: float64."""
    result: Array = 1 / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=-1, keepdims=True) + eps)
    return result


@np.errstate(invalid="ignore")
def rotated(x: Array, norm: Array | None, eps: float, cos: Array, sin: Array) -> Array:
    """Head x [d], normalised when `norm` is given, rotated: pair f is (x[f], x[f + d/2])."""
    x64 = x.astype(np.float64) if norm is None else normalised(x, norm, eps)
    first, second = np.split(x64, 2)  # [F] each
    return np.concatenate([first * cos - second * sin, second * cos + first * sin])


@np.errstate(invalid="ignore")
def heads_of(parts: Array, hidden: Array | None, eps: float) -> Array:
    """Query, key and value heads [n, H + 2 G, d], normed where the norm of `hidden` is behind."""
    if hidden is None:
        return parts
    result: Array = parts.astype(np.float64) * inverse_rms(hidden, eps)[:, None]
    return result

"""The definition of attention for one query."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array


@np.errstate(invalid="ignore")
def attend(
    query: Array, keys: Array, values: Array, scale: float, bias: Array | float = 0.0
) -> tuple[Array, float]:
    """Attention of query [d] over keys and values [L, d], with bias [L] on its scores.

    Callers pass what the query sees and no more: the rest of a cache may never have been written.

    Returns:
        The weighted mean of the values [d] and the log-sum-exp of the scores; (0, -inf) of none.
    """
    query, keys, values = (x.astype(np.float64) for x in (query, keys, values))
    return weighted(scale * (keys @ query) + bias, values)


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def weighted(scores: Array, values: Array) -> tuple[Array, float]:
    """Softmax of scores [L] over values [L, d], both float64.

    Returns:
        As `attend`.
    """
    if scores.size == 0:
        return np.zeros(values.shape[1]), -np.inf
    greatest = scores.max()
    weights = np.exp(scores - greatest)  # [L]
    total = weights.sum()
    return weights @ values / total, float(greatest + np.log(total))

"""The definition of attention for one query."""

from __future__ import annotations

import numpy as np

from xgr.backends.cpu_ref.arrays import Array


@np.errstate(invalid="ignore")  # a NaN is the caller's, and flows
def attend(scores: Array, values: Array) -> tuple[Array, float]:
    """Softmax of scores [L] over values [L, d].

    Returns:
        The weighted mean of the values [d] and the log-sum-exp of the scores; (0, -inf) of none.
    """
    if scores.size == 0:
        return np.zeros(values.shape[1]), -np.inf
    greatest = scores.max()
    weights = np.exp(scores - greatest)  # [L]
    total = weights.sum()
    return weights @ values / total, float(greatest + np.log(total))

"""Log-sum-exp of rows."""

from __future__ import annotations

import torch
from torch import Tensor


def log_sum_exp(x: Tensor) -> Tensor:
    """Natural log of the sum of exponentials of [R, K], [R, 1]; 0 where no logit is above -inf."""
    found = torch.logsumexp(x, 1, keepdim=True)
    return found.masked_fill_(found == -torch.inf, 0.0)

"""T5's relative position buckets against transformers'."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from transformers.models.t5.modeling_t5 import T5Attention

from xgr.backends.cpu_ref.buckets import relative_buckets


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (16, 64), (32, 20), (64, 1000)])
def test_every_distance_falls_into_the_trained_bucket(
    buckets: int, distance: int, bidirectional: bool
) -> None:
    relative = np.arange(-3000, 3001)
    # transformers does not annotate it
    bucket: Callable[..., torch.Tensor] = T5Attention._relative_position_bucket
    theirs = bucket(torch.from_numpy(relative), bidirectional, buckets, distance)
    ours = relative_buckets(relative, buckets, distance, bidirectional)
    np.testing.assert_array_equal(ours, theirs.numpy())

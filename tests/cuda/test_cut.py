"""The cut of a list of keys, against a sort of it."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, misc"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.interpreter import QUIET, need_interpreter

need_interpreter()
pytestmark = QUIET

import torch  # noqa: E402 (skipped above where it is not installed)
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from xgr.backends.cuda.beam_step.cut import best_of, keep  # noqa: E402
from xgr.backends.cuda.beam_step.keys import EMPTY as _EMPTY  # noqa: E402

EMPTY, GREATEST = _EMPTY.value, (1 << 31) - 1
NOTHING = -7


@triton.jit
def cut(keys, n, want, slack, bounds, found, kept, CHUNK: tl.constexpr):
    threshold, ties, count, _ = best_of(keys, n, want, slack, bounds, CHUNK)
    tl.store(found, count)
    keep(keys, n, threshold, ties, kept, None, 32)


def keys_of(rng: np.random.Generator, kind: str, n: int) -> Any:
    if kind == "any":
        return rng.integers(EMPTY + 1, GREATEST, n, endpoint=True)
    if kind == "ends":
        return rng.choice([EMPTY + 1, EMPTY + 2, -1, 0, GREATEST - 1, GREATEST], n)
    if kind == "equal":
        return np.full(n, rng.integers(EMPTY + 1, GREATEST, endpoint=True))
    scale = {"close": 0.0, "scores": 1.0, "decades": 20.0}[kind]
    values = (-np.exp(scale * rng.standard_normal(n))).astype(np.float32)
    if kind == "close":
        values = np.round(4 * rng.standard_normal(n)).astype(np.float32)
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, bits ^ GREATEST, bits)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("kind", ["any", "ends", "equal", "close", "scores", "decades"])
def test_best_of_a_list(kind: str, bounded: bool) -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 31, 33, 64, 200):
        keys = np.append(keys_of(rng, kind, n), GREATEST)  # what is behind the list is not read
        bounds = None
        if bounded:
            loose = int(rng.integers(2))
            low, high = keys[:n].min(initial=GREATEST), keys[:n].max(initial=EMPTY + 1)
            bounds = (max(int(low) - loose, EMPTY + 1), min(int(high) + loose, GREATEST))
        else:
            keys[:n][rng.random(n) < 0.3] = EMPTY
        legal = np.flatnonzero(keys[:n] != EMPTY)
        best = legal[np.argsort(-keys[legal], kind="stable")]
        for want, slack in ((0, 0), (1, 0), (5, 3), (30, 0), (30, 4), (150, 0), (400, 0)):
            kept = torch.full((n + 1,), NOTHING, dtype=torch.int32)
            found = torch.zeros(1, dtype=torch.int32)
            device = torch.from_numpy(keys.astype(np.int32))
            cut[(1,)](device, n, want, slack, bounds, found, kept, CHUNK=int(rng.choice([32, 256])))
            count = int(found)
            assert min(want, len(legal)) <= count <= min(want + slack, len(legal))
            np.testing.assert_array_equal(kept[:count], np.sort(best[:count]))
            assert (kept[count:] == NOTHING).all()

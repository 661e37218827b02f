"""What the records of the Triton kernels say, with or without Triton."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xgr.backends.ascend import _compat
from xgr.backends.ascend.triton import kernels
from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.backends.ascend.triton.selection import MOST_BLOCK, MOST_SLOTS, MOST_WIDTH, tiles_of
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel


def record(op: str) -> Kernel:
    return next(kernel for kernel in TRITON_KERNELS if kernel.op == op)


def sort(rows: int, columns: int, targets: int) -> Problem:
    return Problem.of("beam_sort", "float32", {"order": "path"}, R=rows, C=columns, RO=targets, B=1)


def test_records_need_no_triton_and_no_torch() -> None:
    code = "import sys, xgr.backends.ascend.triton.kernels; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_twins_are_chosen_by_name_only() -> None:
    for kernel in TRITON_KERNELS:
        problem = Problem.of(kernel.op, "float32")
        (reason,) = kernel.auto(problem)
        assert f"XGR_KERNEL={kernel.op}=ascend.triton" in str(reason)


@pytest.mark.parametrize("npu", [True, False])
@pytest.mark.parametrize("installed", [True, False])
def test_triton_is_missed_where_there_is_an_npu(
    monkeypatch: pytest.MonkeyPatch, npu: bool, installed: bool
) -> None:
    monkeypatch.setattr(_compat, "missing", lambda: iter(() if npu else ("no NPU",)))
    monkeypatch.setattr(kernels, "installed", lambda: installed)
    for kernel in TRITON_KERNELS:
        problem = Problem.of(kernel.op, "float32", H=4, G=2, d=64)
        if kernel.op == "beam_sort":
            problem = sort(8, 8, 8)
        codes = [reason.code for reason in kernel.unsupported(problem)]
        assert codes == (["triton"] if npu and not installed else [])


@given(st.integers(1, 5000), st.integers(1, 200_000), st.integers(1, 5000))
def test_tiles_hold_everything_or_are_refused(rows: int, columns: int, targets: int) -> None:
    problem = sort(rows, columns, targets)
    tiles = tiles_of(problem)
    assert tiles.block <= MOST_BLOCK
    assert (tiles.count - 1) * tiles.block < columns <= tiles.count * tiles.block
    assert rows * tiles.count <= tiles.slots < 2 * rows * tiles.count
    assert targets <= tiles.width < 2 * targets or targets == 1
    fits = tiles.slots <= MOST_SLOTS and tiles.width <= MOST_WIDTH
    assert fits == (not record("beam_sort").unsupported(problem))


@pytest.mark.parametrize("op", ["shared_attention", "unshared_attention"])
@pytest.mark.parametrize(("heads", "size", "fits"), [(64, 128, True), (64, 129, False)])
def test_heads_that_share_a_kv_head_are_bounded(op: str, heads: int, size: int, fits: bool) -> None:
    reasons = record(op).unsupported(Problem.of(op, "float16", H=2 * heads, G=2, d=size))
    assert fits == (not reasons)


def test_what_is_too_large_is_said() -> None:
    reasons = record("beam_sort").unsupported(sort(4096, 8192, 5000))
    assert [str(reason) for reason in reasons] == [
        "limit: got 4096 rows of 8 tiles of 1024, need 4096 tiles or fewer "
        "(sort fewer rows at a time)",
        "limit: got RO=5000, need 1..4096",
    ]

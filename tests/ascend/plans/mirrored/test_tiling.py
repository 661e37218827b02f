"""The tilings of plans, in Python, are those of the kernels' host code in C++."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ascend.emulator import machine
from tests.ascend.emulator.built import need_compiler
from xgr.backends.ascend.outline import tiling

need_compiler()

CORES = st.sampled_from([48, 40, 38, 10, 1])
REQUESTS = st.integers(1, 64)
ROWS = st.integers(1, 1 << 14)
COLUMNS = st.one_of(st.integers(1, 300), st.sampled_from([1024, 4096, 8192, 151_936]))


@settings(deadline=None)
@given(
    requests=REQUESTS,
    layers=st.integers(1, 64),
    rows=ROWS,
    groups=st.integers(1, 16),
    size=st.sampled_from([16, 64, 96, 128, 256]),
    item=st.sampled_from([2, 4]),
    step=st.integers(0, 4),
    cores=CORES,
)
def test_kv_reorder(
    requests: int, layers: int, rows: int, groups: int, size: int, item: int, step: int, cores: int
) -> None:
    ours = tiling.kv_reorder(requests, layers, rows, groups, size, item, step, cores)
    words = machine.tiling("kv_reorder", requests, layers, rows, 4, groups, size, item, step, cores)
    assert (ours.workspace, ours.cores) == tuple(words[:2])
    assert ours.ub == machine.unified_buffer("kv_reorder", words)


@settings(deadline=None)
@given(requests=REQUESTS, rows=ROWS, columns=COLUMNS, item=st.sampled_from([2, 4]), cores=CORES)
def test_mask_filter(requests: int, rows: int, columns: int, item: int, cores: int) -> None:
    ours = tiling.mask_filter(requests, rows, columns, item, cores)
    words = machine.tiling("mask_filter", requests, rows, columns, cores)
    assert (ours.workspace, ours.cores) == tuple(words[:2])
    assert ours.ub == machine.unified_buffer("mask_filter", words, item)


@settings(deadline=None)
@given(requests=REQUESTS, rows=ROWS, columns=COLUMNS, out=st.integers(1, 3072), cores=CORES)
def test_beam_topk(requests: int, rows: int, columns: int, out: int, cores: int) -> None:
    ours = tiling.beam_topk(requests, rows, columns, out, cores)
    words = machine.tiling("beam_topk", requests, rows, columns, out, cores)
    assert (ours.workspace, ours.cores) == tuple(words[:2])
    assert ours.ub == machine.unified_buffer("beam_topk", words)

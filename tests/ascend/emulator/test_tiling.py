"""Tilings are computed without a device, for the core counts of real ones and extreme shapes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ascend.emulator import ops
from tests.ascend.emulator.built import CSRC, need_compiler
from tests.ascend.emulator.machine import reserved, tiling, unified_buffer
from tests.ascend.emulator.test_orders import values_of
from xgr.conformance.entries import cases_of

need_compiler()

UNIFIED_BUFFER = 188160
# vector cores of the 910B1 and the 910B3, whole and as half of a core group, and one
CORES = st.sampled_from([48, 40, 24, 20, 1])
# words behind the workspace and the cores
REQUESTS, TILE, WIDTH = 2, 5, 6


@settings(deadline=None)
@given(
    requests=st.integers(1, 1024),
    rows=st.integers(1, 1 << 20),
    columns=st.integers(1, 1 << 20),
    targets=st.integers(0, 3072),
    cores=CORES,
)
def test_beam_topk_fits(requests: int, rows: int, columns: int, targets: int, cores: int) -> None:
    words = tiling("beam_topk", requests, rows, columns, targets, cores)
    assert words[1] == cores
    tile, width = int(words[TILE]), int(words[WIDTH])
    assert tile & (tile - 1) == 0
    assert 64 <= tile <= 1024
    assert targets <= width <= 3072
    assert width % 8 == 0
    assert unified_buffer("beam_topk", words) <= UNIFIED_BUFFER
    lists, maxima = (cores + requests) * (32 + 8 * width), cores * 4 * 2048
    assert words[0] == lists + maxima + 16 * (-(-targets // 8) * 8)


def test_the_widest_of_everything_leaves_room_in_the_unified_buffer() -> None:
    topk = tiling("beam_topk", 1024, 1 << 20, 8192, 3072 * 1024, 128)
    assert unified_buffer("beam_topk", topk) <= UNIFIED_BUFFER
    mask = tiling("mask_filter", 1024, 1 << 20, 8192, 128)
    assert unified_buffer("mask_filter", mask, 4) <= UNIFIED_BUFFER


@pytest.mark.parametrize("op", ["beam_sort", "kv_reorder", "mask_filter"])
def test_the_host_knows_what_the_kernels_reserve(op: str) -> None:
    cases = [c for c in cases_of(op) if max(c.sizes.values()) < 1200][::5]
    for case in cases:
        values, _, _ = values_of(case)
        getattr(ops, op)(**values, cores=3)
        a = case.sizes
        if op == "beam_sort":
            words = tiling("beam_topk", a["B"], a["R"], a["C"], a["RO"], 3)
            want = unified_buffer("beam_topk", words)
        elif op == "mask_filter":
            words = tiling("mask_filter", a["B"], a["R"], a["K"], 3)
            want = unified_buffer("mask_filter", words, 4)
        else:
            sizes = [a[axis] for axis in ("B", "L", "R", "S", "G", "d")]
            item, step = values["k"].itemsize, values["step"]
            words = tiling("kv_reorder", *sizes, item, step, 3)
            want = unified_buffer("kv_reorder", words)
        assert reserved() == want, case.id


@settings(deadline=None)
@given(
    requests=st.integers(1, 1024), rows=st.integers(1, 1 << 20), columns=st.integers(1, 1 << 20),
    cores=CORES,
)  # fmt: skip
def test_mask_filter_fits(requests: int, rows: int, columns: int, cores: int) -> None:
    words = tiling("mask_filter", requests, rows, columns, cores)
    assert words[1] == min(cores, rows)
    tile = int(words[5])
    assert tile & (tile - 1) == 0
    assert min(columns, 64) <= tile <= 4096
    assert unified_buffer("mask_filter", words, 4) <= UNIFIED_BUFFER


@settings(deadline=None)
@given(
    requests=st.integers(1, 1024),
    layers=st.integers(1, 128),
    rows=st.integers(1, 1 << 20),
    slots=st.integers(1, 8),
    groups=st.integers(1, 64),
    head=st.integers(1, 512),
    item=st.sampled_from([2, 4]),
    cores=CORES,
)
def test_kv_reorder_fits(
    requests: int, layers: int, rows: int, slots: int, groups: int, head: int, item: int, cores: int
) -> None:
    for step in range(slots + 1):
        words = tiling("kv_reorder", requests, layers, rows, slots, groups, head, item, step, cores)
        piece, held = int(words[7]), int(words[8])
        assert 1 <= words[1] <= cores
        assert piece % 32 == 0
        assert 32 <= piece <= 8192
        assert 1 <= held <= 1024
        assert unified_buffer("kv_reorder", words) <= UNIFIED_BUFFER
        # no core idles where pieces can still be halved
        row = max(step, 1) * groups * head * item
        units = 2 * layers * requests * -(-row // piece) if step else requests
        assert words[1] == min(cores, units) or units >= cores


@pytest.mark.parametrize(
    ("op", "sizes", "message"),
    [
        ("beam_topk", (1, 8, 100, 3073, 40), "RO of a single request is 3073, allowed: 0 to 3072"),
        ("beam_topk", (1025, 8, 100, 10, 40), "B is 1025, allowed: 1 to 1024"),
        ("beam_topk", (1, 8, 0, 10, 40), "C is 0, allowed: 1 to 2147483647"),
        ("beam_topk", (1, 8, 9, 10, 129), "cores is 129, allowed: 1 to 128"),
        ("mask_filter", (0, 8, 9, 40), "B is 0, allowed: 1 to 1024"),
        ("kv_reorder", (1, 1, 8, 3, 2, 16, 2, 4, 40), "step is 4, allowed: 0 to 3"),
        ("kv_reorder", (1, 1, 8, 3, 2, 16, 8, 2, 40), "elements of 8 bytes, allowed: 2 and 4"),
    ],
)
def test_what_a_kernel_cannot_take_is_refused_by_name(
    op: str, sizes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{op}: {message}")):
        tiling(op, *sizes)


def test_tilings_need_nothing_of_cann() -> None:
    for name in ("host/tiling.h", "kernels/layout.h"):
        included = re.findall(r"#include [<\"]([^>\"]+)", (CSRC / name).read_text())
        assert set(included) <= {
            "algorithm", "cstdint", "stdexcept", "string", "vector", "../kernels/layout.h",
        }  # fmt: skip

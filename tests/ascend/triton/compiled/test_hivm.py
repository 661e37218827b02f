"""Every kernel goes through Huawei's compiler down to HIVM, and its buffers fit the chip."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.ascend.triton.compiled.hivm import Compiled, hivm, on_chip
from tests.ascend.triton.compiled.posed import launches_of
from tests.ascend.triton.compiled.toolchain import ROOT, need_toolchain
from xgr.backends.ascend.soc import spec
from xgr.backends.ascend.triton.kernels import TRITON_KERNELS
from xgr.ops.spec import Problem

need_toolchain()

# 24 and 20 cube cores of A2, and A3
SOCS = ("Ascend910B1", "Ascend910B3", "Ascend910_9382")

Posed = tuple[Problem, Mapping[str, Any]]


def attention(op: str, dtype: str, heads: int, groups: int, size: int, **more: int) -> Problem:
    flags = {"ancestors": True, "bias": True} if op == "unshared_attention" else {}
    axes = {"R": 512, "H": heads, "G": groups, "d": size, "B": 4} | more
    return Problem.of(op, dtype, flags, **axes)


def decoder(dtype: str, heads: int, groups: int, size: int) -> dict[str, Posed]:
    """The attention ops and the reorder of a decoder, 512 beams of 4 requests."""
    at = dtype, heads, groups, size
    merge = Problem.of("merge_attention", dtype, R=512, H=heads, d=size)
    reorder = Problem.of("kv_reorder", dtype, L=28, R=512, S=3, G=groups, d=size, B=4)
    name = f"{dtype}-{heads}x{groups}x{size}"
    return {
        f"shared-{name}": (attention("shared_attention", *at, T=8192), {"scale": 0.1}),
        f"unshared-{name}": (
            attention("unshared_attention", *at, S=3), {"scale": 0.1, "step": 2},
        ),
        f"merge-{name}": (merge, {}),
        f"reorder-{name}": (reorder, {"step": 2}),
    }  # fmt: skip


def beams() -> dict[str, Posed]:
    """One request of 512 beams over 8192 codes, 8 of 512 over 256, with and without filters."""
    found: dict[str, Posed] = {}
    for order in ("path", "rank"):
        for rows, columns, requests in ((512, 8192, 1), (4096, 256, 8)):
            problem = Problem.of(
                "beam_sort", "float32", {"order": order},
                R=rows, C=columns, RO=rows, B=requests,
            )  # fmt: skip
            found[f"sort-{order}-{rows}x{columns}"] = problem, {"order": order}
    for level in (0, 1):
        for filters in (True, False):
            problem = Problem.of("mask_filter", "float32", {"filters": filters}, R=512, K=8192, B=4)
            arguments = {"level": level, "absent": () if filters else ("filters",)}
            found[f"mask-{level}-{'filters' if filters else 'plain'}"] = problem, arguments
    return found


POSED = (
    decoder("bfloat16", 16, 8, 128)
    | decoder("float16", 12, 2, 128)
    | decoder("float32", 4, 2, 64)
    | decoder("bfloat16", 8, 1, 256)
    | decoder("bfloat16", 12, 4, 96)
    # the limits of the records
    | decoder("bfloat16", 64, 1, 128)
    | decoder("float32", 8, 8, 512)
    | beams()
)


def compiled(name: str, soc: str) -> dict[str, Compiled]:
    """The kernels of a launch, by name."""
    problem, arguments = POSED[name]
    return {
        launch.signature.name: hivm(launch.signature, soc)
        for launch in launches_of(problem, **arguments)
    }


@pytest.mark.parametrize("soc", SOCS)
@pytest.mark.parametrize("name", POSED)
def test_kernels_compile_and_fit(name: str, soc: str) -> None:
    chip = spec(soc)
    room = {"UB": chip.usable_ub, "L1": chip.l1, "L0A": chip.l0a, "L0B": chip.l0b, "L0C": chip.l0c}
    for kernel, found in compiled(name, soc).items():
        assert found.core == ("MIX" if kernel == "shared_kernel" else "AIV"), kernel
        assert found.bytes["UB"] > 0
        for memory, used in found.bytes.items():
            assert used <= room[memory], f"{kernel} takes {used} bytes of {memory}"


@pytest.mark.parametrize("name", POSED)
def test_integers_stay_integers(name: str) -> None:
    # the compiler divides vectors of integers as float32, which holds 24 bits of them
    for kernel, found in compiled(name, "Ascend910B3").items():
        assert "vcast_int32_t_to_float" not in found.text, kernel


@pytest.mark.parametrize("name", POSED)
def test_numbers_are_not_compiled_in(name: str) -> None:
    # or a kernel would be compiled again for each value that is 1, which no check has seen
    problem, arguments = POSED[name]
    for launch in launches_of(problem, **arguments):
        kinds = dict(launch.signature.types)
        for parameter in launch.signature.kernel.params:
            is_number = not kinds.get(parameter.name, "*").startswith("*")
            assert not is_number or parameter.do_not_specialize, parameter.name


@pytest.mark.parametrize("soc", SOCS)
def test_documented_bytes(soc: str) -> None:
    text = (ROOT / "docs" / "ascend.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\w+_kernel)`.* \| (\w+) \| (\d*) ?\| (\d*) ?\| (\d*) ?\|$", text, re.M
    )
    found: dict[str, Compiled] = {}
    for name in (
        "shared-bfloat16-16x8x128", "unshared-bfloat16-16x8x128", "merge-bfloat16-16x8x128",
        "reorder-bfloat16-16x8x128", "mask-1-filters", "sort-path-512x8192",
    ):  # fmt: skip
        found |= compiled(name, soc)
    told = {
        kernel: (core, {m: int(n) for m, n in zip(("UB", "L1", "L0C"), sizes, strict=True) if n})
        for kernel, core, *sizes in rows
    }
    assert told == {kernel: (one.core, one.bytes) for kernel, one in found.items()}


def test_every_kernel_is_posed() -> None:
    assert {problem.op for problem, _ in POSED.values()} == {k.op for k in TRITON_KERNELS}


def test_a_tile_beyond_the_buffer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from xgr.backends.ascend.triton import merge_attention

    monkeypatch.setattr(merge_attention, "TILE", 1 << 16)
    problem, arguments = POSED["merge-bfloat16-16x8x128"]
    (launch,) = launches_of(problem, **arguments)
    with pytest.raises(AssertionError, match="ub overflow"):
        hivm(launch.signature, "Ascend910B3")


def test_bytes_are_read_from_the_places_of_buffers() -> None:
    text = """
    %0 = hivm.hir.pointer_cast(%c64_i64) : memref<2x16xf32, #hivm.address_space<ub>>
    %1 = hivm.hir.pointer_cast(%c0_i64, %c512_i64) : memref<8xbf16, #hivm.address_space<ub>>
    %2 = hivm.hir.pointer_cast(%c0_i64_3) : memref<16x16xf16, #hivm.address_space<cbuf>>
    %3 = hivm.hir.pointer_cast(%c512_i64) : memref<3x5xi1, #hivm.address_space<cbuf>>
    """
    assert on_chip(text) == {"UB": 528, "L1": 514}
    with pytest.raises(AssertionError, match="written in another way"):
        on_chip("%0 = hivm.hir.pointer_cast(%c64_i64) : i32")

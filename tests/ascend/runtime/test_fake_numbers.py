"""Calls that the fake CANN computes, against torch on the CPU, on dense and on strided tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.ascend.runtime.fake import OPS, on_npu

Make = Callable[[torch.Generator], Tensor]


def reals(*shape: int, dtype: torch.dtype = torch.float32) -> Make:
    return lambda draw: torch.randn(shape, generator=draw).to(dtype)


def wholes(*shape: int, below: int = 9, dtype: torch.dtype = torch.int32) -> Make:
    return lambda draw: torch.randint(0, below, shape, generator=draw).to(dtype)


def flags(*shape: int) -> Make:
    return lambda draw: torch.rand(shape, generator=draw) < 0.5


def strided(make: Make) -> Make:
    """The same values as every second column of a wider tensor."""

    def wide(draw: torch.Generator) -> Tensor:
        values = make(draw)
        room = torch.zeros(*values.shape[:-1], values.shape[-1] * 2, dtype=values.dtype)
        room[..., ::2] = values
        return room[..., ::2]

    return wide


F, H, B = torch.float32, torch.float16, torch.bfloat16
CASES: dict[str, tuple[Callable[..., Any], tuple[Make, ...]]] = {
    "add": (torch.add, (reals(4, 6), reals(6))),
    "add int": (lambda x, y: torch.add(x, y, alpha=3), (wholes(5), wholes(5))),
    "add scalar": (lambda x: x + 2.5, (strided(reals(4, 6)),)),
    "sub": (torch.sub, (wholes(4, 1), wholes(1, 6))),
    "mul": (torch.mul, (reals(4, 6), strided(reals(4, 6)))),
    "mul by scalar": (lambda x: x * 3, (wholes(4, 6),)),
    "clamp": (lambda x: x.clamp(2, 5), (wholes(20),)),
    "clamp_min": (lambda x: x.clamp_min(0.25), (reals(20),)),
    "minimum": (torch.minimum, (wholes(20), wholes(20))),
    "ge": (torch.ge, (wholes(4, 1), wholes(6))),
    "lt scalar": (lambda x: x < 0.1, (reals(20),)),
    "ne": (torch.ne, (wholes(20), wholes(20))),
    "and": (torch.bitwise_and, (flags(4, 1), flags(6))),
    "and scalar": (lambda x: x & 5, (wholes(20),)),
    "not": (torch.bitwise_not, (flags(20),)),
    "shift": (lambda x: x >> 1, (wholes(20, below=99),)),
    "floor_divide": (
        lambda x: torch.floor_divide(x - 20, 7),
        (wholes(30, below=40, dtype=torch.int64),),
    ),
    "where": (torch.where, (flags(4, 1), reals(4, 6), strided(reals(4, 6)))),
    "masked_fill": (lambda x, m: x.masked_fill(m, -math.inf), (reals(4, 6), flags(4, 1))),
    "cos": (torch.cos, (reals(9),)),
    "sin": (torch.sin, (reals(9),)),
    "cast to bfloat16": (lambda x: x.to(B), (reals(99),)),
    "cast to float16": (lambda x: (x * 1e-5).to(H), (reals(99),)),
    "cast to float32": (lambda x: x.to(F), (reals(99, dtype=B),)),
    "cast to int64": (lambda x: x.to(torch.int64), (wholes(9),)),
    "copy of a transposed view": (lambda x: x.t().contiguous(), (reals(4, 6),)),
    "sum": (lambda x: x.sum(0, dtype=torch.int32), (flags(4, 6),)),
    "any": (lambda x: x.any(1), (flags(4, 2),)),
    "amax": (lambda x: x.amax(1), (reals(4, 6),)),
    "logsumexp": (lambda x: x.logsumexp(1, keepdim=True), (strided(reals(4, 6)),)),
    "mm": (lambda x, w: x @ w.t(), (reals(5, 7), reals(3, 7))),
    "mm bfloat16": (lambda x, w: x @ w.t(), (reals(5, 64, dtype=B), reals(3, 64, dtype=B))),
    "addmm": (torch.addmm, (reals(3), reals(5, 7), reals(7, 3))),
    "index_select": (lambda x, i: x.index_select(0, i), (reals(9, 4, dtype=B), wholes(12))),
    "index_select dim 1": (lambda x, i: x.index_select(1, i), (reals(2, 9, 3), wholes(12))),
    "gather": (lambda x, i: x.gather(1, i), (reals(4, 9), wholes(4, 5, dtype=torch.int64))),
    "sort": (lambda x: x.sort(dim=-1, descending=True, stable=True), (wholes(4, 20, dtype=F),)),
    "searchsorted": (
        lambda s, x: torch.searchsorted(s.sort(stable=True)[0], x, right=True, out_int32=True),
        (wholes(9), wholes(12)),
    ),
}
TOLERANCE = {F: (1e-5, 1e-5), H: (2e-3, 1e-3), B: (1.6e-2, 1e-2)}


@pytest.mark.parametrize("name", CASES)
def test_equals_torch(name: str) -> None:
    call, makes = CASES[name]
    draw = torch.Generator().manual_seed(len(name))
    given = [make(draw) for make in makes]
    want = call(*given)
    # a strided view stays one on the device
    placed = [room_on_npu(tensor) for tensor in given]
    assert [tensor.stride() for tensor in placed] == [tensor.stride() for tensor in given]
    got = call(*placed)
    for ours, theirs in zip(parts(got), parts(want), strict=True):
        assert ours.dtype == theirs.dtype
        rtol, atol = TOLERANCE.get(theirs.dtype, (0, 0))
        torch.testing.assert_close(ours.cpu(), theirs, rtol=rtol, atol=atol)


def parts(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else list(result)


def room_on_npu(tensor: Tensor) -> Any:
    if tensor.is_contiguous():
        return on_npu(tensor)
    room = on_npu(torch.as_strided(tensor, (tensor.untyped_storage().nbytes() // 4,), (1,)))
    return torch.as_strided(room, tensor.shape, tensor.stride())


def test_a_cast_rounds_to_nearest_even_and_keeps_what_is_not_a_number() -> None:
    bits = torch.tensor([0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000])
    values = torch.cat([bits.to(torch.int32).view(F), torch.tensor([6e-8, 2.0**-15, 65519.0])])
    for dtype in (B, H):
        got, want = on_npu(values).to(dtype).cpu(), values.to(dtype)
        assert torch.equal(got.isnan(), want.isnan())
        assert torch.equal(got.nan_to_num(7), want.nan_to_num(7))


def test_norm_gate_and_rotation() -> None:
    draw = torch.Generator().manual_seed(5)
    x, gamma = reals(3, 4, 16)(draw), reals(16)(draw)
    normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * gamma
    got, _ = OPS.npu_rms_norm(*on_npu(x, gamma))
    torch.testing.assert_close(got.cpu(), normed)
    gate, up = x.chunk(2, -1)
    torch.testing.assert_close(OPS.npu_swiglu(on_npu(x)).cpu(), torch.nn.functional.silu(gate) * up)
    got, _ = OPS.npu_geglu(on_npu(x), -1, 1, True)
    tanh = torch.nn.functional.gelu(gate, approximate="tanh") * up
    torch.testing.assert_close(got.cpu(), tanh)
    heads, cos, sin = reals(1, 5, 3, 16)(draw), reals(1, 5, 1, 16)(draw), reals(1, 5, 1, 16)(draw)
    low, high = heads.chunk(2, -1)
    turned = heads * cos + torch.cat((-high, low), -1) * sin
    torch.testing.assert_close(OPS.npu_rotary_mul(*on_npu(heads, cos, sin)).cpu(), turned)


def test_add_rms_norm_writes_the_sum_and_its_norm() -> None:
    draw = torch.Generator().manual_seed(6)
    first, second, gamma = reals(3, 16)(draw), reals(3, 16)(draw), reals(16)(draw)
    total = first + second
    normed = total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6) * gamma
    x1, x2, scale = on_npu(first, second, gamma)
    OPS.npu_add_rms_norm_v2(x1, x2, scale)
    torch.testing.assert_close(x2.cpu(), total)
    torch.testing.assert_close(x1.cpu(), normed)


def test_rows_scattered_twice_are_no_ones() -> None:
    rows = on_npu(torch.zeros(6, 2))
    at = on_npu(torch.tensor([[4], [1], [4], [2], [2]], dtype=torch.int32))
    OPS.npu_scatter_nd_update_(
        rows, at, on_npu(torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8], [7, 8]]))
    )
    got = rows.cpu()
    assert got[1].tolist() == [3, 4]
    assert got[2].tolist() == [7, 8], "the same update twice is no conflict"
    assert got[4].isnan().all()
    assert (got[[0, 3, 5]] == 0).all()

"""Schemas, and what the operators refuse by name before anything is launched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ascend.device import need_torch_npu

need_torch_npu()

import torch  # noqa: E402

from tests.ascend.glue.library import built  # noqa: E402
from xgr.backends.ascend import _compat  # noqa: E402

_compat.npu()  # what the library links to
torch.ops.load_library(str(built()))  # type: ignore[no-untyped-call]
OPS = torch.ops.xgr_ascend


def ints(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.int32, device="meta")


def floats(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def tiling(words: int = 32) -> torch.Tensor:
    return torch.empty(words, dtype=torch.int64, device="meta")


def mask_filter(**changes: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("lse", "descriptor", "codes", "first_child", "kind", "mask", "list_start", "listed")
    )
    return {
        "scores": floats(6, 9), "normalize": 0, "node": ints(6), "row_start": ints(3),
        "live": ints(2), "level": 1, "nodes_here": 0, "nodes_above": 0, "words": None,
        "mask_pitch": 0, "tiling": tiling(), "cores": 20, "out": floats(6, 9),
    } | nothing | changes  # fmt: skip


def beam_topk(**changes: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("node", "descriptor", "codes", "first_child", "node_out", "status"))
    return {
        "scores": floats(6, 9), "cumulative": floats(6), "row_start": ints(3), "live": ints(2),
        "row_start_out": ints(3), "out_width": ints(2), "ranked": True, "level": 1,
        "nodes_here": 0, "nodes_above": 0, "tiling": tiling(), "cores": 20,
        "workspace": torch.empty(64, dtype=torch.uint8, device="meta"), "parent": ints(5),
        "code": ints(5), "score": floats(5), "live_out": ints(2),
    } | nothing | changes  # fmt: skip


def kv_reorder(**changes: Any) -> dict[str, Any]:
    return {
        "k": floats(2, 6, 3, 2, 16), "v": floats(2, 6, 3, 2, 16), "parent": ints(6),
        "row_start": ints(3), "live": ints(2), "tiling": tiling(), "cores": 20, "step": 2,
        "status": ints(2),
    } | changes  # fmt: skip


def test_schemas() -> None:
    level = (
        "Tensor? descriptor, Tensor? codes, Tensor? first_child, int level, int nodes_here, "
        "int nodes_above, "
    )
    assert str(OPS.kv_reorder.default._schema) == (
        "xgr_ascend::kv_reorder(Tensor(a!) k, Tensor(b!) v, Tensor parent, Tensor row_start, "
        "Tensor live, Tensor tiling, int cores, int step, Tensor(c!) status) -> ()"
    )
    assert level in str(OPS.mask_filter.default._schema)
    assert level in str(OPS.beam_topk.default._schema)
    written = {
        name: [a.name for a in getattr(OPS, name).default._schema.arguments if a.is_write]
        for name in ("mask_filter", "beam_topk", "kv_reorder")
    }
    assert written == {
        "mask_filter": ["out"],
        "beam_topk": [
            "workspace", "parent", "code", "node_out", "score", "live_out", "status",
        ],
        "kv_reorder": ["k", "v", "status"],
    }  # fmt: skip


@pytest.mark.parametrize(("op", "arguments"), [("mask_filter", mask_filter()),
                                               ("beam_topk", beam_topk()),
                                               ("kv_reorder", kv_reorder())])  # fmt: skip
def test_meta_tensors_launch_nothing(op: str, arguments: dict[str, Any]) -> None:
    assert getattr(OPS, op)(**arguments) is None


STRIDED = floats(9, 6).t()
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("mask_filter", mask_filter(scores=STRIDED), "scores has stride 6 on its last axis"),
    ("mask_filter", mask_filter(scores=floats(6, 9).double()), "scores is Double, need float32"),
    ("mask_filter", mask_filter(out=floats(6, 8)), r"out is Float \[6, 8\], need float32 \[6, 9\]"),
    ("mask_filter", mask_filter(normalize=1), "normalize 1 needs the argument lse"),
    ("mask_filter", mask_filter(normalize=4), "normalize is 4, allowed: 0 to 3"),
    ("mask_filter", mask_filter(codes=ints(9)), "codes of level 1 need first_child"),
    ("mask_filter", mask_filter(kind=ints(2)), "filters need kind, mask, list_start and listed"),
    ("mask_filter", mask_filter(node=ints(12)[::2]), "node has stride 2, need 1"),
    ("mask_filter", mask_filter(cores=0), "cores is 0, allowed: 1 to 128"),
    ("beam_topk", beam_topk(scores=floats(6, 9).half()), "scores is Half, need float32"),
    ("beam_topk", beam_topk(code=ints(4)), r"code has shape \[4\], need one axis of 5 or more"),
    ("beam_topk", beam_topk(live=floats(2)), "live is Float, need Int"),
    ("beam_topk", beam_topk(node=torch.empty(6, dtype=torch.int32)), "node is on cpu"),
    ("beam_topk", beam_topk(tiling=tiling(3)), "tiling has shape"),
    ("kv_reorder", kv_reorder(v=floats(2, 6, 3, 2, 8)), "v is Float"),
    ("kv_reorder", kv_reorder(step=4), "step is 4, allowed: 0 to 3"),
    ("kv_reorder", kv_reorder(k=floats(6, 3, 2, 16)), "k has shape"),
]


@pytest.mark.parametrize(("op", "arguments", "message"), REFUSED)
def test_refused_by_name(op: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        getattr(OPS, op)(**arguments)


def test_tilings_are_host_tensors() -> None:
    words = OPS.kv_reorder_tiling(
        B=1, L=28, R=512, S=3, G=8, d=128, itemsize=2, step=2, cores=40
    )  # fmt: skip
    assert words.device.type == "cpu"
    assert words.dtype == torch.int64
    assert words[:2].tolist() == [0, 40]
    with pytest.raises(ValueError, match="beam_topk: B is 0, allowed: 1 to 1024"):
        OPS.beam_topk_tiling(B=0, R=1, C=1, RO=1, cores=1)

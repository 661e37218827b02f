"""Calls of the library in the smallest form that shows a limit or a meaning."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend import _compat


def on_device(tensor: Tensor) -> Tensor:
    """A copy on the current NPU."""
    return tensor.to("npu")


def attention(
    *,
    heads: int = 8,
    groups: int = 2,
    size: int = 128,
    queries: int = 4,
    keys: int = 256,
    block: int = 0,
    kind: torch.dtype = torch.bfloat16,
    layout: str = "BSND",
) -> tuple[Tensor, Tensor]:
    """One request's attention with its LSE, every number 1; over blocks where there is a size."""
    query: tuple[int, ...] = (1, queries, heads, size)
    cache: tuple[int, ...] = (1, keys, groups, size)
    arguments: dict[str, Any] = {}
    if layout == "TND":
        query, cache = query[1:], cache[1:]
        arguments |= {"actual_seq_qlen": [queries], "actual_seq_kvlen": [keys]}
    if block:
        cache = (-(-keys // block), block, groups * size)
        table = torch.arange(cache[0], dtype=torch.int32)[None]
        arguments |= {"block_table": on_device(table), "block_size": block}
        arguments["actual_seq_kvlen"] = [keys]
    key = on_device(torch.ones(cache, dtype=kind))
    return fused_attention(
        query=on_device(torch.ones(query, dtype=kind)),
        key=key,
        value=key,
        num_query_heads=heads,
        num_key_value_heads=groups,
        softmax_scale=size**-0.5,
        input_layout=layout,
        **arguments,
    )


def fused_attention(**arguments: Any) -> tuple[Tensor, Tensor]:
    """npu_fused_infer_attention_score_v2 with LSE."""
    found: tuple[Tensor, Tensor] = _compat.call(
        "npu::npu_fused_infer_attention_score_v2", **arguments, return_softmax_lse=True
    )
    return found


def merge(lse: list[Tensor], out: list[Tensor]) -> tuple[Tensor, Tensor]:
    """npu_attention_update of host tensors [n] and [n, d]."""
    parts = {"lse": [on_device(x) for x in lse], "local_out": [on_device(x) for x in out]}
    found: tuple[Tensor, Tensor] = _compat.call("npu::npu_attention_update", **parts, update_type=1)
    return found


def merge_of(parts: int, size: int) -> tuple[Tensor, Tensor]:
    """The merge of equal parts of a head size."""
    return merge([torch.zeros(16)] * parts, [torch.ones(16, size)] * parts)


def norm(kind: torch.dtype) -> Any:
    """npu_rms_norm of bfloat16 rows with weights of a type."""
    x, gamma = torch.ones(4, 256, dtype=torch.bfloat16), torch.ones(256, dtype=kind)
    return _compat.call(
        "npu::npu_rms_norm", input=on_device(x), gamma=on_device(gamma), epsilon=1e-6
    )

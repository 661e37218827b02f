"""The fused attention of the library over prompts: one call, or one a request."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from xgr.backends.ascend import _compat, graph
from xgr.backends.ascend.constraints import BLOCK, MASK, Fia, fia
from xgr.backends.ascend.lengths import Call, Lengths
from xgr.errors import Unsupported
from xgr.ops.dtype import float32
from xgr.registry.kernel import Context

OUT = "npu::npu_fused_infer_attention_score_v2.out"
WORKSPACE = "npu::_npu_fused_infer_attention_score_v2_get_max_workspace"


@functools.cache
def causal_mask(device: torch.device) -> Tensor:
    """What sparse mode 3 wants, bool [2048, 2048]: 1 drops a key; shared by all calls."""
    upper = torch.ones((MASK, MASK), dtype=torch.bool).triu(1)
    return upper.to(device)


class Prompts:
    """Queries of requests over their prompts' K/V in the arena.

    Args:
        context: of the bind.
        lengths: the plan.
        rows: query rows.
        heads: H.
        with_lse: the log-sum-exp is wanted.
    """

    def __init__(
        self, context: Context, lengths: Lengths, rows: int, heads: int, with_lse: bool
    ) -> None:
        self._lengths, self._heads, self._with_lse = lengths, heads, with_lse
        # the library wants a place for the log-sum-exp even where it writes none
        self._lse: Any = context.empty((rows * heads if with_lse else 1,), float32)
        self._spaces: dict[Any, Tensor] = {}
        self._checked = 0

    def launch(
        self, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, out: Tensor, lse: Tensor
    ) -> None:
        """Attention of the rows of requests that have a prompt; others are left as they are.

        Args:
            q: [rows, H, d], dense as all tensors here.
            k: [T, G, d].
            v: [T, G, d].
            scale: of the scores.
            causal: a query sees keys up to its own position, the last query the last key.
            out: [rows, H, d], written.
            lse: float32 [rows, H], written with `with_lse`.
        """
        self._check(q, k, causal)
        for at, call in enumerate(self._lengths.calls):
            made = functools.partial(self._call, at, q, k, v, scale, causal, out)
            if call.dense:  # another length is another shape, which no captured call takes
                made()
            else:
                self._reserve(at, q, k, v, scale, causal)
                graph.updatable(self._lengths, made)
            if self._with_lse:
                self._place(call, lse)

    def _check(self, q: Tensor, k: Tensor, causal: bool) -> None:
        """Refuse calls that the library does not take, once a plan.

        Raises:
            Unsupported: with every limit that a call exceeds.
        """
        if self._checked == self._lengths.version:
            return
        kind = str(q.dtype).removeprefix("torch.")
        for call in self._lengths.calls:
            one = Fia(
                layout="BSND" if call.count else "TND",
                dtype=kind,
                batch=len(call.lengths),
                queries=(call.end - call.first) // (call.count or 1),
                heads=self._heads,
                kv_heads=k.shape[1],
                size=k.shape[2],
                kv_lengths=call.lengths,
                block=0 if call.dense else BLOCK,
                sparse_mode=3 if causal and not call.single else 0,
            )
            reasons = tuple(fia(one))
            if reasons:
                listed = [("ascend.fia", reason) for reason in reasons]
                raise Unsupported("the library's fused attention cannot take a call", listed)
        self._checked = self._lengths.version

    def _call(
        self, at: int, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool, out: Tensor
    ) -> None:
        call = self._lengths.calls[at]
        known = self._arguments(call, q, k, v, scale, causal)
        results = [_shaped(call, out), self._lse_of(call)]
        # dense calls have the library ask for what they need
        workspace = self._spaces.get(_key(call, causal))
        _compat.call(OUT, **known, workspace=workspace, out=results)

    def _reserve(
        self, at: int, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool
    ) -> None:
        """What the largest lengths need: an updated call of a graph works where the first did."""
        call = self._lengths.calls[at]
        key = _key(call, causal)
        if key not in self._spaces:
            known = self._arguments(call, q, k, v, scale, causal)
            self._spaces[key] = _compat.call(WORKSPACE, **known)

    def _arguments(
        self, call: Call, q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool
    ) -> dict[str, Any]:
        groups, size = k.shape[1:]
        causal = causal and not call.single
        known: dict[str, Any] = {
            "query": _shaped(call, q),
            "actual_seq_kvlen": call.lengths,
            "num_query_heads": self._heads,
            "num_key_value_heads": groups,
            "softmax_scale": scale,
            "input_layout": "BSND" if call.count else "TND",
            "sparse_mode": 3 if causal else 0,
            "atten_mask": causal_mask(q.device) if causal else None,
            "return_softmax_lse": self._with_lse,
        }
        if not call.count:
            known["actual_seq_qlen"] = call.q_ends
        if call.dense:
            tokens = slice(call.at, call.at + call.lengths[0])
            return known | {"key": k[tokens][None], "value": v[tokens][None]}
        blocks = (-1, BLOCK, groups * size)
        table = self._lengths.table
        assert table is not None
        return known | {
            "key": k.view(blocks),
            "value": v.view(blocks),
            "block_size": BLOCK,
            "block_table": table[call.at : call.at + len(call.lengths)],
        }

    def _lse_of(self, call: Call) -> Tensor:
        """Where a call writes its log-sum-exp: [n, H, W, 1], or packed [rows, H, 1]."""
        if not self._with_lse:
            whole: Tensor = self._lse
            return whole
        rows = call.end - call.first
        part: Tensor = self._lse[call.first * self._heads : call.end * self._heads]
        if not call.count:
            return part.view(rows, self._heads, 1)
        return part.view(call.count, self._heads, rows // call.count, 1)

    def _place(self, call: Call, lse: Tensor) -> None:
        found, rows = self._lse_of(call), lse[call.first : call.end]
        if not call.count:
            rows.copy_(found[..., 0])
        else:
            rows.view(call.count, -1, self._heads).copy_(found[..., 0].transpose(1, 2))


def _shaped(call: Call, rows: Tensor) -> Tensor:
    """A call's rows as the library wants them: [n, W, H, d], or packed as they are."""
    mine = rows[call.first : call.end]
    return mine.view(call.count, -1, *mine.shape[1:]) if call.count else mine


def _key(call: Call, causal: bool) -> tuple[Any, ...]:
    return call.end - call.first, call.count, causal and not call.single

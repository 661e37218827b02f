"""Device memory of an engine: the K/V arena, the beams' own K/V, and the state of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from xgr.engine.layout import Layout
from xgr.models.config import DecoderConfig
from xgr.models.decoder import Prompts
from xgr.ops.array import Array
from xgr.ops.dtype import DType, float32, int32
from xgr.runtime import Runtime


class KVCache:
    """Separated K/V, allocated once.

    Attributes:
        keys, values: [L, T, G, d], the shared part: prompts, contiguous, at token granularity.
        own_keys, own_values: [L, R, S, G, d], the unshared part: S tokens of each beam.
    """

    def __init__(
        self,
        rt: Runtime,
        config: DecoderConfig,
        dtype: DType,
        tokens: int,
        rows: int,
        slots: int,
    ) -> None:
        layers, heads = config.num_layers, (config.num_kv_heads, config.head_dim)
        self.keys = rt.empty((layers, tokens, *heads), dtype)
        self.values = rt.empty((layers, tokens, *heads), dtype)
        self.own_keys = rt.empty((layers, rows, slots, *heads), dtype)
        self.own_values = rt.empty((layers, rows, slots, *heads), dtype)

    @staticmethod
    def nbytes(config: DecoderConfig, dtype: DType, tokens: int, rows: int, slots: int) -> int:
        """Bytes that one of these sizes takes."""
        row = config.num_layers * config.num_kv_heads * config.head_dim * dtype.itemsize
        return 2 * row * (tokens + rows * slots)


class BatchState:
    """Inputs of a batch in one request bucket; the same arrays serve every batch of the bucket.

    Attributes:
        row_start: int32 [B + 1].
        root_start: int32 [B + 1], the row layout of level 0: one row a request.
        root_live: int32 [B], 1 for requests, 0 for padding.
        root_node, root_score: int32 and float32 [B], the empty prefix and its score 0.
        prompts: where the prompts lie.
        widths: int32 [B] a level.
        status: int32 [B], sticky bits of what went wrong on the device.
    """

    def __init__(self, rt: Runtime, requests: int, levels: int) -> None:
        self._rt = rt
        self.row_start = rt.empty((requests + 1,), int32)
        self.root_start = rt.upload(list(range(requests + 1)), int32)
        self.root_live = rt.empty((requests,), int32)
        self.root_node = rt.upload([0] * requests, int32)
        self.root_score = rt.upload([0.0] * requests, float32)
        each = [rt.empty((requests,), int32) for _ in range(3)]
        self.prompts = Prompts(rt.empty((requests + 1,), int32), *each)
        self.widths = [rt.empty((requests,), int32) for _ in range(levels)]
        self.status = rt.empty((requests,), int32)

    def write(self, layout: Layout) -> None:
        """Upload a batch's layout."""
        rt, padding = self._rt, layout.requests - layout.count
        rt.write(self.row_start, layout.row_start)
        rt.write(self.root_live, [1] * layout.count + [0] * padding)
        rt.write(self.prompts.q_start, layout.q_start)
        rt.write(self.prompts.last, layout.last)
        rt.write(self.prompts.prompt_start, layout.prompt_start)
        rt.write(self.prompts.prompt_len, layout.prompt_len)
        rt.write(self.status, [0] * layout.requests)
        for array, widths in zip(self.widths, layout.widths, strict=True):
            rt.write(array, widths)


@dataclass(frozen=True, slots=True)
class Beams:
    """What a beam step leaves behind; kept for every level, since results read the path back.

    Attributes:
        parent: int32 [R], input row of each beam.
        code: int32 [R], column of the level.
        node: int32 [R], trie node.
        score: float32 [R], cumulative log-prob.
        live: int32 [B], valid rows.
    """

    parent: Array
    code: Array
    node: Array
    score: Array
    live: Array

    @classmethod
    def empty(cls, rt: Runtime, rows: int, requests: int) -> Beams:
        """Arrays of one level."""
        parent, code, node = (rt.empty((rows,), int32) for _ in range(3))
        return cls(parent, code, node, rt.empty((rows,), float32), rt.empty((requests,), int32))

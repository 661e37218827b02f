"""Device memory of an engine: the K/V arena, the beams' own K/V, and the state of a batch."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xgr.engine.layout import Layout, round_up
from xgr.models.config import DecoderConfig
from xgr.models.decoder import Prompts
from xgr.ops.array import Array
from xgr.ops.dtype import DType, float32, int32
from xgr.runtime import Runtime


class KVCache:
    """Separated K/V, allocated once.

    Attributes:
        keys, values: [L, T, G, d], the shared part: prompts, contiguous, at token granularity.
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
        self._slots, self._layers, self._heads = slots, layers, heads
        self._own = [rt.empty((layers * rows * slots, *heads), dtype) for _ in range(2)]

    def prompts(self, tokens: int) -> tuple[Array, Array]:
        """`keys` and `values` of the arena's first tokens, [L, at most `tokens`, G, d]."""
        return self.keys[:, :tokens], self.values[:, :tokens]

    def own(self, rows: int) -> tuple[Array, Array]:
        """Keys and values [L, rows, S, G, d], the unshared part: S tokens of each beam.

        Of few rows the layers lie close together.
        """
        count = self._layers * rows * self._slots
        shape = (self._layers, rows, self._slots, *self._heads)
        keys, values = (memory[:count].reshape(shape) for memory in self._own)
        return keys, values

    @staticmethod
    def nbytes(config: DecoderConfig, dtype: DType, tokens: int, rows: int, slots: int) -> int:
        """Bytes that one of these sizes takes."""
        row = config.num_layers * config.num_kv_heads * config.head_dim * dtype.itemsize
        return 2 * row * (tokens + rows * slots)


class Parts:
    """One-dimensional arrays that lie in one, so that one copy moves all of them.

    Each begins at a multiple of 16 bytes, wherever it lies: kernels are compiled for that.

    Attributes:
        whole: [n], the parts and what is between them.
        arrays: the parts.
    """

    def __init__(self, rt: Runtime, sizes: Sequence[int], dtype: DType) -> None:
        self._spans: list[slice] = []
        end = 0
        for size in sizes:
            self._spans.append(slice(end, end + size))
            end = round_up(end + size, 16 // dtype.itemsize)
        self.whole = rt.empty((end,), dtype)
        self.arrays: list[Array] = [self.whole[span] for span in self._spans]

    def join(self, values: Sequence[Sequence[int] | array[int]]) -> array[int]:
        """Host values of int32 parts as those of the whole, up to the last that is given."""
        joined = array("i")
        for span, part in zip(self._spans, values, strict=True):
            joined.frombytes(bytes(joined.itemsize * (span.start - len(joined))))
            joined.extend(part)
        return joined

    def split(self, host: Any) -> list[Any]:
        """The parts of a host copy of the whole."""
        return [host[span] for span in self._spans]


class BatchState:
    """Inputs of a batch in one request bucket; the same arrays serve every batch of the bucket.

    Attributes:
        row_start: int32 [B + 1].
        root_start: int32 [B + 1], the row layout of level 0: one row a request.
        root_live: int32 [B], 1 for requests, 0 for padding.
        root_node, root_score: int32 and float32 [B], the empty prefix and its score 0.
        prompts: token ids of the prompts, and where they lie.
        widths: int32 [B] a level.
        status: int32 [B], sticky bits of what went wrong on the device.
    """

    def __init__(self, rt: Runtime, requests: int, levels: int, tokens: int) -> None:
        self.root_start = rt.upload(list(range(requests + 1)), int32)
        self.root_node = rt.upload([0] * requests, int32)
        self.root_score = rt.upload([0.0] * requests, float32)
        edges, each = requests + 1, [requests] * (5 + levels)
        self._parts = Parts(rt, [edges, edges, *each, tokens], int32)
        self.row_start, q_start, *rest, ids = self._parts.arrays
        self.root_live, self.status, last, prompt_start, prompt_len, *self.widths = rest
        self.prompts = Prompts(ids, q_start, last, prompt_start, prompt_len)
        self._write = rt.writer(self._parts.whole)

    def write(self, layout: Layout, tokens: array[int]) -> None:
        """Upload a batch's layout and its packed tokens, in one copy."""
        padding = layout.requests - layout.count
        live, status = [1] * layout.count + [0] * padding, [0] * layout.requests
        values = [
            layout.row_start, layout.q_start, live, status,
            layout.last, layout.prompt_start, layout.prompt_len, *layout.widths, tokens,
        ]  # fmt: skip
        self._write(memoryview(self._parts.join(values)))


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


class Search:
    """The beams of every level of a batch; what results are made of lies together.

    Attributes:
        levels: `Beams` of each level.
    """

    def __init__(self, rt: Runtime, levels: int, rows: int, requests: int) -> None:
        self._rt = rt
        self._ints = Parts(rt, [rows, rows, rows, requests] * levels, int32)
        self._scores = Parts(rt, [rows] * levels, float32)
        ints, scores = iter(self._ints.arrays), self._scores.arrays
        self.levels = [
            Beams(next(ints), next(ints), next(ints), score, next(ints)) for score in scores
        ]

    def fetch_later(self, status: Array) -> Callable[[], Found]:
        """The beams as they are after the launches so far, on the host once they are waited for."""
        wait = self._rt.fetch_later([self._ints.whole, self._scores.whole, status])

        def found() -> Found:
            whole, scores, bits = wait()
            ints = self._ints.split(whole)
            scored = self._scores.split(scores)
            return Found(ints[0::4], ints[1::4], ints[2::4], scored, ints[-1], bits)

        return found


class Found(NamedTuple):
    """Host copies of a batch's beams, NumPy.

    Attributes:
        parent, code, node, score: [R] a level, see `Beams`.
        live: int32 [B], valid rows of the last level.
        status: int32 [B].
    """

    parent: list[Any]
    code: list[Any]
    node: list[Any]
    score: list[Any]
    live: Any
    status: Any

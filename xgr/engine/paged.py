"""The measured baseline: beam search over a paged K/V cache (PagedAttention, Kwon et al. 2023).

What is modelled: every beam is a sequence of its own with a table of blocks. The full blocks of a
prompt are shared by reference; attention reads them once for each beam all the same. A block that
is written to belongs to one beam: where beams fork, the first child of a parent goes on in the
parent's block, and every other one gets a free block and a copy of it in all layers (copy on
write); full blocks go by reference. The last block of a prompt is kept as the prompt left it, so
that the first fork copies it for every beam.

Parents are known on the device alone. Tables, free blocks and copies are therefore decided there,
by `block_fork`, and a decode remains one captured graph. Free blocks of a request are those that
its rows brought: a row brings as many as a beam may need behind its prompt's full ones, which no
other request can take. Prompts lie in consecutive blocks: no fragmentation is modelled.
"""

from __future__ import annotations

from collections.abc import Sequence

from xgr.engine.state import BatchState, Beams
from xgr.models.activations import Binder, Workspace
from xgr.models.config import DecoderConfig
from xgr.models.decoder import Decoder, Forward
from xgr.models.paged import PagedRows
from xgr.ops.array import Array
from xgr.ops.dtype import DType, int32
from xgr.runtime import Runtime


class PagedCache:
    """A pool of blocks and the tables into it, allocated once.

    Attributes:
        pool_keys, pool_values: [L, NP, BT, G, d], blocks of BT tokens: those of the prompts, then
            OB of each row.
        keys, values: [L, NP BT, G, d], the same memory as tokens, for the prefill.
        own: int32 [R, OB], the blocks that each row brings.
        tables: two of int32 [R, MB], of the beams before and after a fork.
        source, target: int32 [R], the copies of a fork.
    """

    def __init__(
        self,
        rt: Runtime,
        config: DecoderConfig,
        dtype: DType,
        tokens: int,
        rows: int,
        slots: int,
        block_tokens: int,
    ) -> None:
        self.block_tokens = block_tokens
        prompts, own = tokens // block_tokens, own_blocks(slots, block_tokens)
        blocks = prompts + rows * own
        layers, heads = config.num_layers, (config.num_kv_heads, config.head_dim)
        shape = (layers, blocks, block_tokens, *heads)
        self.pool_keys, self.pool_values = rt.empty(shape, dtype), rt.empty(shape, dtype)
        flat = (layers, blocks * block_tokens, *heads)
        self.keys, self.values = self.pool_keys.reshape(flat), self.pool_values.reshape(flat)
        self.own = rt.upload(
            [[prompts + row * own + block for block in range(own)] for row in range(rows)], int32
        )
        self.tables = [rt.empty((rows, prompts + own), int32) for _ in range(2)]
        self.source, self.target = rt.empty((rows,), int32), rt.empty((rows,), int32)

    def prompts(self, tokens: int) -> tuple[Array, Array]:
        """`keys` and `values` of the pool's first tokens, [L, at most `tokens`, G, d]."""
        return self.keys[:, :tokens], self.values[:, :tokens]

    @staticmethod
    def nbytes(
        config: DecoderConfig, dtype: DType, tokens: int, rows: int, slots: int, block_tokens: int
    ) -> int:
        """Bytes that the pool and the tables of these sizes take."""
        token = config.num_layers * config.num_kv_heads * config.head_dim * dtype.itemsize
        own = own_blocks(slots, block_tokens)
        pool = 2 * token * (tokens + rows * own * block_tokens)
        return pool + 4 * rows * (2 * (tokens // block_tokens + own) + own + 2)


class PagedBeams:
    """The forward of a batch's beams, and how their blocks follow them.

    Attributes:
        forward: the forward of one token of every beam.
    """

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        cache: PagedCache,
        batch: BatchState,
        beams: Sequence[Beams],
        workspace: Workspace,
    ) -> None:
        self._cache, self._batch, self._beams = cache, batch, beams
        rows = beams[0].code.shape[0]
        self._own, self._source = cache.own[:rows], cache.source[:rows]
        self._target = cache.target[:rows]
        self._tables: list[Array] = [table[:rows] for table in cache.tables]
        layout = PagedRows(
            rows, batch.row_start, batch.prompts.prompt_len, cache.pool_keys, cache.pool_values
        )
        self.forward = Forward(rt, decoder, layout, self._tables[0], workspace)
        bind = Binder(rt)
        self._forks = [
            bind("block_fork", **self._fork_arguments(at)) for at in range(min(2, len(beams)))
        ]
        self._copy = bind("block_copy", **self._copy_arguments())

    def follow(self, at: int) -> Array | None:
        """Blocks follow the beams of level `at`, which write token `at`; returns their table."""
        self._forks[min(at, 1)](**self._fork_arguments(at))
        self._copy(**self._copy_arguments())
        return self._tables[at % 2]

    def _fork_arguments(self, at: int) -> dict[str, object]:
        beams, batch, prompts = self._beams[at], self._batch, self._batch.prompts
        return {
            "parent": beams.parent if at else None,
            "row_start": batch.row_start,
            "live": beams.live,
            "prompt_start": prompts.prompt_start,
            "prompt_len": prompts.prompt_len,
            "own": self._own,
            "table": self._tables[(at - 1) % 2] if at else None,
            "out": self._tables[at % 2],
            "source": self._source,
            "target": self._target,
            "status": batch.status,
            "step": at,
            "block_tokens": self._cache.block_tokens,
        }

    def _copy_arguments(self) -> dict[str, object]:
        cache = self._cache
        return {
            "k": cache.pool_keys,
            "v": cache.pool_values,
            "source": self._source,
            "target": self._target,
        }


def own_blocks(slots: int, block_tokens: int) -> int:
    """Blocks of a beam behind its prompt's full ones: a block begun, and `slots` tokens more."""
    return -(-(block_tokens - 1 + slots) // block_tokens)

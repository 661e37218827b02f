"""The decode of a batch: every level of the beam search as one captured graph.

It begins at the last hidden state of the prefill and ends with the ranked beams on the device;
nothing in between is read by the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xgr.engine.config import EngineConfig
from xgr.engine.layout import Layout
from xgr.engine.paged import PagedBeams, PagedCache
from xgr.engine.staged import StagedBeams
from xgr.engine.state import BatchState, KVCache, Search
from xgr.models.activations import Binder, Workspace
from xgr.models.decoder import Decoder
from xgr.models.recorded import recorded
from xgr.ops.array import Array, Filters, Trie
from xgr.ops.dtype import float32
from xgr.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Level:
    """One decoded token: what may be chosen and where its logits come from.

    Attributes:
        tokens: int32 [K], token id of each code.
        head: [K, h], the head's rows of those tokens.
        constrained: the catalogue's trie masks it.
    """

    tokens: Array
    head: Array
    constrained: bool


class Decode:
    """Bound ops, buffers and graph of one (row bucket, request bucket, arena bucket).

    Attributes:
        search: the beams of every level, the last one in rank order.
    """

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        levels: Sequence[Level],
        config: EngineConfig,
        kv_mode: str,
        cache: KVCache | PagedCache,
        batch: BatchState,
        hidden: Array,
        rows: int,
        arena: int,
        trie: Trie | None,
        filters: Filters | None,
        workspace: Workspace,
        logits: Array,
    ) -> None:
        requests = batch.root_live.shape[0]
        self._rt, self._decoder, self._levels, self._config = rt, decoder, levels, config
        self._batch, self._hidden = batch, hidden
        self._trie, self._filters = trie, filters
        self.search = Search(rt, len(levels), rows, requests)
        self.beams = self.search.levels
        self._lse: list[Array | None] = []
        self._steps: list[Callable[..., None]] = []
        self._heads: list[Callable[..., None]] = []
        self._norms: list[Callable[..., None] | None] = []
        self._kv: StagedBeams | PagedBeams
        if isinstance(cache, PagedCache):
            self._kv = PagedBeams(rt, decoder, cache, batch, self.beams, workspace)
        else:
            self._kv = StagedBeams(rt, decoder, cache, batch, self.beams, kv_mode, arena, workspace)
        self._forward = self._kv.forward
        self._logits = [self._part(logits, at) for at in range(len(levels))]
        self._bind()
        self._graph = recorded(rt, self._launch)
        self._trie = self._filters = None

    def plan(self, layout: Layout) -> None:
        """Tell the attention kernels the batch's lengths and widths, off the critical path."""
        widths = [
            after - before
            for before, after in zip(layout.row_start, layout.row_start[1:], strict=False)
        ]
        self._forward.plan(layout.prompt_start, layout.prompt_len, widths)

    def replay(self, trie: Trie | None, filters: Filters | None) -> None:
        """Launch the whole decode over the catalogue that is served.

        What was recorded finds it by the descriptor, what is launched each time by these. They are
        not kept: a catalogue that is served no longer goes with its last batch.
        """
        self._trie, self._filters = trie, filters
        self._graph.replay()
        self._trie = self._filters = None

    def _bind(self) -> None:
        bind, rt = Binder(self._rt), self._rt
        for at, level in enumerate(self._levels):
            hidden = self._hidden_of(at)
            vocab = self._config.normalize == "vocab"
            lse = rt.empty((hidden.shape[0],), float32) if vocab else None
            logits = self._logits[at]
            self._lse.append(lse)
            self._heads.append(bind("linear_logits", hidden=hidden, head=level.head, logits=logits))
            self._norms.append(
                bind("linear_lse", hidden=hidden, head=self._decoder.head, lse=lse)
                if lse is not None
                else None
            )
            self._steps.append(bind("beam_step", **self._step_arguments(at)))

    def _launch(self) -> None:
        for at, level in enumerate(self._levels):
            hidden = self._hidden if at == 0 else self._advance(at)
            self._heads[at](hidden=hidden, head=level.head, logits=self._logits[at])
            norm = self._norms[at]
            if norm is not None:
                norm(hidden=hidden, head=self._decoder.head, lse=self._lse[at])
            self._steps[at](**self._step_arguments(at))

    def _advance(self, at: int) -> Array:
        """Forward of the codes chosen at level `at - 1`: hidden states for level `at`."""
        before, tokens = self.beams[at - 1], self._levels[at - 1].tokens
        where = self._kv.follow(at - 1)
        return self._forward.launch(before.code, tokens, before.live, at - 1, where)

    def _part(self, logits: Array, at: int) -> Array:
        """Where the logits of a level lie, float32 [Rin, K]; those of the level before are used."""
        level = self._levels[at]
        shape = (self._hidden_of(at).shape[0], level.tokens.shape[0])
        part: Array = logits[: shape[0] * shape[1]].reshape(shape)
        return part

    def _hidden_of(self, at: int) -> Array:
        return self._hidden if at == 0 else self._forward.activations.normed

    def _step_arguments(self, at: int) -> dict[str, object]:
        batch, out, level = self._batch, self.beams[at], self._levels[at]
        before = self.beams[at - 1] if at else None
        return {
            "logits": self._logits[at],
            "lse": self._lse[at],
            "cumulative": before.score if before else batch.root_score,
            "node": before.node if before else batch.root_node,
            "row_start": batch.row_start if before else batch.root_start,
            "live": before.live if before else batch.root_live,
            "row_start_out": batch.row_start,
            "out_width": batch.widths[at],
            "trie": self._trie if level.constrained else None,
            "filters": self._filters if level.constrained else None,
            "parent": out.parent,
            "code": out.code,
            "node_out": out.node,
            "cumulative_out": out.score,
            "live_out": out.live,
            "status": batch.status,
            "level": at,
            "normalize": self._config.normalize,
            "order": "rank" if at == len(self._levels) - 1 else "path",
        }

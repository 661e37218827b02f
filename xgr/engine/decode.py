"""The decode of a batch: every level of the beam search as one captured graph.

It begins at the last hidden state of the prefill and ends with the ranked beams on the device;
nothing in between is read by the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xgr.engine.config import EngineConfig
from xgr.engine.layout import Layout
from xgr.engine.state import BatchState, Beams, KVCache
from xgr.models.decoder import Binder, Decoder, Forward, Rows, Workspace
from xgr.ops.array import Array, Filters, Trie
from xgr.ops.dtype import float32, int32
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
    """Bound ops, buffers and graph of one (row bucket, request bucket).

    Attributes:
        beams: `Beams` of every level, the last one in rank order.
    """

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        levels: Sequence[Level],
        config: EngineConfig,
        kv_mode: str,
        cache: KVCache,
        batch: BatchState,
        hidden: Array,
        rows: int,
        trie: Trie | None,
        filters: Filters | None,
        workspace: Workspace,
    ) -> None:
        requests = batch.root_live.shape[0]
        self._rt, self._decoder, self._levels, self._config = rt, decoder, levels, config
        self._batch, self._hidden = batch, hidden
        self._trie, self._filters = trie, filters
        self._own = (cache.own_keys[:, :rows], cache.own_values[:, :rows])
        self.beams = [Beams.empty(rt, rows, requests) for _ in levels]
        self._logits: list[Array] = []
        self._lse: list[Array | None] = []
        self._steps: list[Callable[..., None]] = []
        self._heads: list[Callable[..., None]] = []
        self._norms: list[Callable[..., None] | None] = []
        slots = cache.own_keys.shape[2]
        self._ancestors: list[Array] | None = None
        if kv_mode == "ancestors":
            identity = rt.upload([[row] * slots for row in range(rows)], int32)
            self._ancestors = [identity] + [rt.empty((rows, slots), int32) for _ in levels[2:]]
        layout = Rows(
            batch.row_start, batch.prompts.prompt_start, batch.prompts.prompt_len,
            cache.keys, cache.values, *self._own,
        )  # fmt: skip
        first = self._ancestors[0] if self._ancestors else None
        self._forward = Forward(rt, decoder, layout, first, workspace)
        self._bind()
        self._graph = rt.capture(self._launch)
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
        follow = "kv_reorder" if self._ancestors is None else "beam_ancestors"
        for at, level in enumerate(self._levels):
            hidden = self._hidden_of(at)
            rows = hidden.shape[0]
            logits = rt.empty((rows, level.tokens.shape[0]), self._decoder.dtype)
            vocab = self._config.normalize == "vocab"
            lse = rt.empty((rows,), float32) if vocab else None
            self._logits.append(logits)
            self._lse.append(lse)
            self._heads.append(bind("linear", x=hidden, weight=level.head, out=logits))
            self._norms.append(
                bind("linear_lse", hidden=hidden, head=self._decoder.head, lse=lse)
                if lse is not None
                else None
            )
            self._steps.append(bind("beam_step", **self._step_arguments(at)))
        if len(self._levels) > 2:
            self._follow = bind(follow, **self._follow_arguments(1))

    def _launch(self) -> None:
        for at, level in enumerate(self._levels):
            hidden = self._hidden if at == 0 else self._advance(at)
            self._heads[at](x=hidden, weight=level.head, bias=None, out=self._logits[at])
            norm = self._norms[at]
            if norm is not None:
                norm(hidden=hidden, head=self._decoder.head, lse=self._lse[at])
            self._steps[at](**self._step_arguments(at))

    def _advance(self, at: int) -> Array:
        """Forward of the codes chosen at level `at - 1`: hidden states for level `at`."""
        before, ancestors = self.beams[at - 1], None
        if at > 1:
            self._follow(**self._follow_arguments(at - 1))
        if self._ancestors is not None:
            ancestors = self._ancestors[at - 1]
        tokens = self._levels[at - 1].tokens
        return self._forward.launch(before.code, tokens, before.live, at - 1, ancestors)

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

    def _follow_arguments(self, at: int) -> dict[str, object]:
        """K/V of the `at` slots before follow the beams of level `at`."""
        beams, batch = self.beams[at], self._batch
        common = {
            "parent": beams.parent,
            "row_start": batch.row_start,
            "live": beams.live,
            "status": batch.status,
            "step": at,
        }
        if self._ancestors is None:
            return {"k": self._own[0], "v": self._own[1], **common}
        return {"ancestors": self._ancestors[at - 1], "out": self._ancestors[at], **common}

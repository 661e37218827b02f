"""The engine: batches of requests through prefill, captured decode and back to items."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from xgr.backends.base import Event
from xgr.catalog import Catalogue
from xgr.catalog.device import FilterBuffers, Served
from xgr.catalog.paths import Spellings
from xgr.engine.config import EngineConfig
from xgr.engine.decode import Decode, Level
from xgr.engine.layout import (
    Layout,
    arena_granule,
    check_fits,
    lay_out,
    pack,
    round_up,
    token_bucket,
)
from xgr.engine.paged import PagedCache
from xgr.engine.request import Prepared, Request
from xgr.engine.results import Outcome, Results
from xgr.engine.state import BatchState, Found, KVCache
from xgr.errors import InputError
from xgr.models.activations import Activations, Workspace
from xgr.models.decoder import Decoder, Prefill
from xgr.ops.array import Array
from xgr.ops.dtype import float32, int32
from xgr.runtime import Runtime

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch on its way.

    Attributes:
        prepared, catalogue, layout: what its results need.
        prefill, decode: what was launched, which lives at least until it is done.
        found: waits for the beams and gives them.
    """

    prepared: Sequence[Prepared]
    catalogue: Catalogue
    layout: Layout
    prefill: Prefill
    decode: Decode
    found: Callable[[], Found]


class Engine:
    """Serves requests of one model on one device.

    Args:
        rt: the device.
        decoder: the loaded model.
        token_ids: per level of the catalogue, the token id of each code.
        config: limits and choices.

    A catalogue is given with each batch and may change between batches, not within one.

    Launches go to a stream of the engine's own, in order. Their results are copied out behind
    them, so that a batch may be launched before those in front of it are collected; one thread
    launches at a time, any thread collects.

    Attributes:
        launched: batches so far.
        events: when set, recorded before the prefill, behind it and behind the decode of every
            batch from now on, for measuring: wait for a batch before the next is launched.
    """

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        token_ids: Sequence[Sequence[int]],
        config: EngineConfig | None = None,
    ) -> None:
        self.rt, self.decoder, self.config = rt, decoder, config or EngineConfig()
        self.token_ids = tuple(tuple(ids) for ids in token_ids)
        self.depth = len(self.token_ids)
        self.kv_mode = self.config.kv_mode or rt.backend.kv_mode
        self._stream = rt.stream()
        rt.synchronize()  # the weights are there, whichever stream they came on
        with self._stream:
            self._levels = self._make_levels()
            self._allocate()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._served = Served(rt, self.config.filter_masks)
        self.launched = 0
        self.events: tuple[Event, Event, Event] | None = None
        self._spellings = Spellings(self.token_ids)

    def run(self, requests: Sequence[Request], catalogue: Catalogue) -> list[Outcome]:
        """Serve requests in batches; outcomes in their order, a failed request's is its error.

        Raises:
            InputError: a request that cannot be served, before anything is launched.
        """
        prepared = [self.prepare(request, catalogue) for request in requests]
        outcomes: list[Outcome] = []
        for run in pack(prepared, self.depth, self.config, self.rt.backend):
            outcomes += self.collect(self.launch([prepared[at] for at in run], catalogue))
        return outcomes

    def prepare(self, request: Request, catalogue: Catalogue) -> Prepared:
        """Refuse a request that cannot be served, and resolve its filter.

        Raises:
            InputError: with the value and the limit.
        """
        self._check_catalogue(catalogue)
        request.check(self.depth, self.decoder.config.vocab_size)
        tokens, limit = len(request.token_ids), self.decoder.config.max_positions
        decoded = len(self._levels) - 1
        if tokens + decoded > limit:
            raise InputError(
                f"the prompt has {tokens} tokens and {decoded} more are decoded, the model "
                f"has {limit} positions: shorten the history (max_items)"
            )
        chosen = request.resolve(catalogue)
        nodes = max(map(len, chosen.nodes)) if chosen is not None else 0
        arena = round_up(tokens, self._granule)
        check_fits(arena, max(request.widths(self.depth)), nodes, self.config)
        return Prepared(request, chosen, array("i", request.token_ids))

    def launch(self, prepared: Sequence[Prepared], catalogue: Catalogue) -> Batch:
        """Launch one batch, behind those launched before; the host waits for nothing."""
        try:
            with self._stream:
                return self._launch(prepared, catalogue)
        except BaseException:
            self.forget()  # an interrupt may have left buffers half written
            raise

    def forget(self) -> None:
        """Drop programs and uploads; the next batches make them anew."""
        self._kept.clear()
        self._served = Served(self.rt, self.config.filter_masks)

    def _launch(self, prepared: Sequence[Prepared], catalogue: Catalogue) -> Batch:
        rt = self.rt
        requests = [p.request for p in prepared]
        layout = lay_out(
            requests, self.depth, len(self._levels) - self.depth, rt.backend, self._granule
        )
        filters = [p.chosen for p in prepared]
        filtered = any(f is not None for f in filters)
        self.launched += 1
        # programs are kept by the very buffers that they were bound to, not by their sizes
        state = self._keep(
            ("state", layout.requests),
            lambda: BatchState(rt, layout.requests, len(self._levels), self._tokens),
        )
        lasts = self._keep(
            ("lasts", layout.requests),
            lambda: Activations(rt, self.decoder, layout.requests, self._lasts),
        )
        prefill = self._keep(
            ("prefill", layout.tokens, layout.arena, state, lasts),
            lambda: Prefill(
                rt,
                self.decoder,
                layout.tokens,
                lasts,
                state.prompts,
                *self._cache.prompts(layout.arena),
                self._space,
                captured=layout.tokens <= self.config.graph_tokens,
            ),
        )
        buffers = self._buffers(layout.requests) if filtered else None
        chosen = buffers.over(self._words(catalogue)) if buffers else None
        trie = self._served.trie(catalogue) if self.config.constrained else None
        decode = self._keep(
            ("decode", layout.rows, layout.arena, state, lasts, buffers),
            lambda: Decode(
                rt, self.decoder, self._levels, self.config, self.kv_mode, self._cache, state,
                lasts.normed, layout.rows, layout.arena, trie, chosen, self._space, self._logits,
            ),
        )  # fmt: skip
        packed = array("i")
        for one in prepared:
            packed += one.tokens
        packed.frombytes(bytes(packed.itemsize * (layout.tokens - len(packed))))
        state.write(layout, packed)
        prefill.plan(layout.prompt_start, layout.prompt_len, layout.counts)
        self._mark(0)
        prefill.launch()
        self._mark(1)
        # host work of the batch, under the prefill where the device runs by itself
        if buffers is not None:
            buffers.write(filters, self._served)
        decode.plan(layout)
        decode.replay(trie, chosen)
        self._mark(2)
        found = decode.search.fetch_later(state.status)
        return Batch(prepared, catalogue, layout, prefill, decode, found)

    def collect(self, batch: Batch) -> list[Outcome]:
        """Wait for a batch and turn its beams into items; once a batch."""
        results = Results(
            batch.found(), batch.layout, batch.catalogue, self._spellings, self.config
        )
        return [
            results.outcome(at, prepared.request, prepared.chosen)
            for at, prepared in enumerate(batch.prepared)
        ]

    def _mark(self, at: int) -> None:
        if self.events is not None:
            self.events[at].record(self._stream)

    def _allocate(self) -> None:
        self._slots = max(1, len(self._levels) - 1)
        rt, decoder, limits = self.rt, self.decoder, self.config
        backend = rt.backend
        rows = round_up(limits.max_rows, backend.row_granule)
        self._granule = arena_granule(limits, backend)
        arena = round_up(limits.max_tokens, self._granule)
        self._tokens = tokens = token_bucket(limits.max_tokens, backend)
        requests = round_up(limits.max_requests, backend.request_granule)
        slots = self._slots
        widest = max(level.tokens.shape[0] for level in self._levels)
        make, size = self._cache_of(arena, rows, slots)
        # one launch follows the other: prefill, decode and the batches share what they work in
        self._cache, self._space, self._lasts, self._logits = _held(
            lambda: (
                make(),
                Workspace(rt, decoder, max(tokens, rows)),
                Workspace(rt, decoder, requests),
                rt.empty((max(rows, requests) * widest,), float32),
            ),
            size,
            f"max_tokens={limits.max_tokens}, max_rows={limits.max_rows} and "
            f"max_requests={limits.max_requests}: the K/V alone",
        )

    def _cache_of(
        self, tokens: int, rows: int, slots: int
    ) -> tuple[Callable[[], KVCache | PagedCache], int]:
        """What makes the K/V of the attention that is configured, and the bytes that it takes."""
        rt, config, kind = self.rt, self.decoder.config, self.decoder.dtype
        if self.config.attention == "paged":
            paged = (config, kind, tokens, rows, slots, self.config.block_tokens)
            return lambda: PagedCache(rt, *paged), PagedCache.nbytes(*paged)
        staged = (config, kind, tokens, rows, slots)
        return lambda: KVCache(rt, *staged), KVCache.nbytes(*staged)

    def _make_levels(self) -> list[Level]:
        vocab = range(self.decoder.config.vocab_size)
        levels = []
        for ids in self.token_ids:
            if self.config.constrained:
                levels.append(self._level(ids, True))
            else:
                same = levels[0] if levels else self._level(vocab, False)
                levels.append(same)
        return levels + [self._level((token,), False) for token in self.config.end_tokens]

    def _level(self, ids: Sequence[int], constrained: bool) -> Level:
        rt, c = self.rt, self.decoder.config
        low, high = min(ids), max(ids)
        if low < 0 or high >= c.vocab_size:
            raise InputError(
                f"token id {low if low < 0 else high} of a level or of end_tokens is not one of "
                f"the model's 0..{c.vocab_size - 1}"
            )
        tokens = rt.upload(list(ids), int32)
        if list(ids) == list(range(low, high + 1)):
            return Level(tokens, self.decoder.head[low : high + 1], constrained)
        head = rt.empty((len(ids), c.hidden_size), self.decoder.dtype)
        rows = {"ids": tokens, "table": self.decoder.head, "out": head}
        # not by the op's name: a runtime that keeps what it is called for is in a cycle
        rt.bind("embed", rt.problem("embed", **rows))(**rows)
        return Level(tokens, head, constrained)

    def _check_catalogue(self, catalogue: Catalogue) -> None:
        sizes = tuple(len(ids) for ids in self.token_ids)
        if catalogue.level_sizes != sizes:
            raise InputError(
                f"the catalogue has level sizes {catalogue.level_sizes}, the engine was started "
                f"for {sizes}: rebase the catalogue on the model's codes (Catalogue.rebase)"
            )

    def _words(self, catalogue: Catalogue) -> tuple[Array, ...]:
        masks = self.config.filter_masks
        words = sum(-(-len(level) // 32) for level in catalogue.levels)
        return _held(
            lambda: self._served.words(catalogue),
            4 * masks * words,
            f"filter_masks={masks}: the registered filters in use",
        )

    def _buffers(self, requests: int) -> FilterBuffers:
        capacity = self.config.filter_capacity
        return self._keep(
            ("filters", requests),
            lambda: _held(
                lambda: FilterBuffers(self.rt, self.depth, requests, capacity),
                4 * self.depth * capacity,
                f"filter_capacity={capacity}: the filters of a batch",
            ),
        )

    def _keep(self, key: Hashable, make: Callable[[], T]) -> T:
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = make()
            while len(self._kept) > self.config.max_programs:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        found: T = kept
        return found


def _held(make: Callable[[], T], size: int, what: str) -> T:
    """What is made, or an error that names the limit and the bytes that it asks for."""
    try:
        return make()
    except (MemoryError, OverflowError, ValueError) as error:
        raise InputError(
            f"{what} take {size} bytes, which cannot be had ({error}): start the engine with "
            "smaller limits"
        ) from error

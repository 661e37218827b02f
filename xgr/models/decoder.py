"""The decoder of Qwen3, Qwen2 and Llama, written over the runtime's ops only.

One forward is the same walk for prompt tokens and for beams; only the rope/KV write and the
attention differ. All memory is the backend's; nothing here reads a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from xgr.models.activations import Activations, Binder, Workspace
from xgr.models.parameters import Decoder
from xgr.models.recorded import recorded
from xgr.ops.array import Array
from xgr.ops.dtype import float32, int32
from xgr.runtime import Runtime

__all__ = ["BeamRows", "Decoder", "Forward", "Prefill", "Prompts", "Rows"]


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a batch, and where they lie.

    Attributes:
        ids: int32 [at least N], token ids packed by request.
        q_start: int32 [B + 1], packed tokens of each request; those from q_start[B] on are padding.
        last: int32 [B], packed row of each request's last token.
        prompt_start, prompt_len: int32 [B], tokens of the arena.
    """

    ids: Array
    q_start: Array
    last: Array
    prompt_start: Array
    prompt_len: Array


class Prefill:
    """Prompt tokens of a batch -> K/V in the arena and the last hidden state of each prompt.

    The caller writes the arrays of `prompts`, of whose tokens the first N are this program's. In
    the last layer only the last token of each prompt goes on, in `lasts`: nothing else is read.
    Where prompts lie is read on the device, so that one graph serves every batch of at most N
    tokens and B requests.

    Attributes:
        hidden: [B, h], the final hidden state of each prompt's last token.
    """

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        tokens: int,
        lasts: Activations,
        prompts: Prompts,
        keys: Array,
        values: Array,
        workspace: Workspace,
        captured: bool = True,
    ) -> None:
        c = decoder.config
        self._decoder, self._keys, self._values = decoder, keys, values
        self._prompts, self._lasts = prompts, lasts
        self._ids = prompts.ids[:tokens]
        self._one_each = rt.upload(list(range(lasts.rows + 1)), int32)
        self._all = Activations(rt, decoder, tokens, workspace)
        self._scale = c.head_dim**-0.5
        bind, every = Binder(rt), self._all
        self._q_flat = every.q.reshape((tokens, c.num_heads * c.head_dim))
        self._q_lasts = lasts.q.reshape((lasts.rows, c.num_heads * c.head_dim))
        last = prompts.last
        self._embed = bind("embed", ids=self._ids, table=decoder.embedding, out=every.hidden)
        self._pick_q = bind("embed", ids=last, table=self._q_flat, out=self._q_lasts)
        self._pick_hidden = bind("embed", ids=last, table=every.hidden, out=lasts.hidden)
        self._rope = bind("rope_prefill", **self._rope_arguments(0))
        self._attend = bind("prefill_attention", **self._attention(0, every, prompts.q_start))
        self._attend_last = bind("prefill_attention", **self._attention(0, lasts, self._one_each))
        self.hidden = lasts.normed
        self._graph = recorded(rt, self._launch) if captured else None

    def plan(
        self, prompt_start: Sequence[int], prompt_len: Sequence[int], tokens: Sequence[int]
    ) -> None:
        """Tell attention where the batch's prompts lie, and the packed tokens of each request."""
        self._attend.plan(prompt_start, prompt_len, tokens)
        self._attend_last.plan(prompt_start, prompt_len, [1] * len(prompt_len))

    def launch(self) -> Array:
        """Run it, as a graph where it is captured; returns `hidden`."""
        if self._graph is None:
            self._launch()
        else:
            self._graph.replay()
        return self.hidden

    def _launch(self) -> None:
        every, lasts, layers = self._all, self._lasts, len(self._decoder.layers)
        self._embed(ids=self._ids, table=self._decoder.embedding, out=every.hidden)
        for index in range(layers):
            every.project(index)
            self._rope(**self._rope_arguments(index))
            if index < layers - 1:
                self._attend(**self._attention(index, every, self._prompts.q_start))
                every.transform(index)
        self._pick_q(ids=self._prompts.last, table=self._q_flat, out=self._q_lasts)
        self._pick_hidden(ids=self._prompts.last, table=every.hidden, out=lasts.hidden)
        self._attend_last(**self._attention(layers - 1, lasts, self._one_each))
        lasts.transform(layers - 1)
        lasts.finish()

    def _rope_arguments(self, index: int) -> dict[str, Any]:
        d, layer = self._decoder, self._decoder.layers[index]
        return {
            "qkv": self._all.qkv,
            "cos": d.cos,
            "sin": d.sin,
            "q_norm": layer.q_norm,
            "k_norm": layer.k_norm,
            "hidden": self._all.behind,
            "q_start": self._prompts.q_start,
            "prompt_start": self._prompts.prompt_start,
            "prompt_len": self._prompts.prompt_len,
            "k": self._keys[index],
            "v": self._values[index],
            "eps": d.config.rms_norm_eps,
            "out": self._all.q,
        }

    def _attention(self, index: int, rows: Activations, q_start: Array) -> dict[str, Any]:
        return {
            "q": rows.q,
            "k": self._keys[index],
            "v": self._values[index],
            "q_start": q_start,
            "prompt_start": self._prompts.prompt_start,
            "prompt_len": self._prompts.prompt_len,
            "causal": True,
            "max_distance": 0,
            "scale": self._scale,
            "out": rows.attended,
        }


class BeamRows(Protocol):
    """The rows of a decode forward, and how the K/V of their tokens is written and read.

    `write` and `read` give the arguments of layer `index` that are an op's own; `where` says which
    K/V is a beam's, as the ops want it.
    """

    @property
    def count(self) -> int:
        """R."""

    @property
    def row_start(self) -> Array:
        """int32 [B + 1]."""

    @property
    def prompt_len(self) -> Array:
        """int32 [B]."""

    @property
    def ops(self) -> tuple[str, str]:
        """The op that writes, and the one that reads."""

    def write(self, index: int, where: Array | None) -> dict[str, Any]:
        """Arguments of the op that writes."""

    def read(self, index: int, where: Array | None) -> dict[str, Any]:
        """Arguments of the op that reads."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The row layout and the K/V that a decode forward reads; `where` are the ancestors.

    Attributes:
        row_start: int32 [B + 1].
        prompt_start, prompt_len: int32 [B], tokens of the arena.
        keys, values: [L, T, G, d], the shared prompt.
        own_keys, own_values: [L, R, S, G, d], the beams' own tokens.
    """

    row_start: Array
    prompt_start: Array
    prompt_len: Array
    keys: Array
    values: Array
    own_keys: Array
    own_values: Array
    ops: ClassVar[tuple[str, str]] = ("rope_kv", "staged_attention")

    @property
    def count(self) -> int:
        """R."""
        return self.own_keys.shape[1]

    def write(self, index: int, where: Array | None) -> dict[str, Any]:
        """To the beams' own slots."""
        return {"k": self.own_keys[index], "v": self.own_values[index]}

    def read(self, index: int, where: Array | None) -> dict[str, Any]:
        """The prompt, then the slots of the ancestors."""
        return {
            "k": self.keys[index],
            "v": self.values[index],
            "k_unshared": self.own_keys[index],
            "v_unshared": self.own_values[index],
            "prompt_start": self.prompt_start,
            "ancestors": where,
        }


class Forward:
    """One token of every beam -> its hidden state; K/V of the token goes to slot `step`."""

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        rows: BeamRows,
        where: Array | None,
        workspace: Workspace,
    ) -> None:
        c, total = decoder.config, rows.count
        self._decoder, self._rows = decoder, rows
        self.activations = Activations(rt, decoder, total, workspace)
        self._lse = rt.empty((total, c.num_heads), float32)
        self._scale = c.head_dim**-0.5
        self._binder = Binder(rt)
        self._embeds: dict[tuple[int, ...], Callable[..., None]] = {}
        live = rt.empty((rows.prompt_len.shape[0],), int32)
        write, read = rows.ops
        self._rope = self._binder(write, **self._rope_arguments(0, 0, live, where))
        problem = rt.problem(read, **self._attention(0, 1, live, where))
        self._attend = rt.bind(read, problem)
        self.plan = self._attend.plan

    def launch(
        self, codes: Array, tokens: Array, live: Array, step: int, where: Array | None
    ) -> Array:
        """Run it.

        Args:
            codes: int32 [R], index into `tokens`.
            tokens: int32 [K], token id of each code of the level.
            live: int32 [B], valid rows of each request.
            step: valid slots before this forward.
            where: which K/V is a beam's, as its rows want it: ancestors, int32 [R, S] (None when
                K/V is reordered in place), or block tables.

        Returns:
            [R, h], final hidden states.
        """
        acts, table = self.activations, self._decoder.embedding
        embed = self._embeds.get(tokens.shape)
        if embed is None:
            embed = self._embeds[tokens.shape] = self._binder(
                "embed", ids=codes, table=table, map=tokens, out=acts.hidden
            )
        embed(ids=codes, table=table, map=tokens, out=acts.hidden)
        for index in range(len(self._decoder.layers)):
            acts.project(index)
            self._rope(**self._rope_arguments(index, step, live, where))
            self._attend(**self._attention(index, step + 1, live, where))
            acts.transform(index)
        return acts.finish()

    def _rope_arguments(
        self, index: int, step: int, live: Array, where: Array | None
    ) -> dict[str, Any]:
        d, layer, rows = self._decoder, self._decoder.layers[index], self._rows
        return {
            "qkv": self.activations.qkv,
            "cos": d.cos,
            "sin": d.sin,
            "q_norm": layer.q_norm,
            "k_norm": layer.k_norm,
            "hidden": self.activations.behind,
            "prompt_len": rows.prompt_len,
            "row_start": rows.row_start,
            "live": live,
            **rows.write(index, where),
            "step": step,
            "eps": d.config.rms_norm_eps,
            "out": self.activations.q,
        }

    def _attention(self, index: int, step: int, live: Array, where: Array | None) -> dict[str, Any]:
        rows = self._rows
        return {
            "q": self.activations.q,
            "prompt_len": rows.prompt_len,
            "row_start": rows.row_start,
            "live": live,
            **rows.read(index, where),
            "step": step,
            "scale": self._scale,
            "out": self.activations.attended,
            "lse": self._lse,
        }

"""The forward of a batch's beams over separated K/V, and how K/V follows them."""

from __future__ import annotations

from collections.abc import Sequence

from xgr.engine.state import BatchState, Beams, KVCache
from xgr.models.activations import Binder, Workspace
from xgr.models.decoder import Decoder, Forward, Rows
from xgr.ops.array import Array
from xgr.ops.dtype import int32
from xgr.runtime import Runtime


class StagedBeams:
    """K/V of the prompts is shared; that of the beams is moved in place or found by ancestors.

    Attributes:
        forward: the forward of one token of every beam.
    """

    def __init__(
        self,
        rt: Runtime,
        decoder: Decoder,
        cache: KVCache,
        batch: BatchState,
        beams: Sequence[Beams],
        kv_mode: str,
        arena: int,
        workspace: Workspace,
    ) -> None:
        self._batch, self._beams = batch, beams
        rows = beams[0].code.shape[0]
        self._own = cache.own(rows)
        slots = self._own[0].shape[2]
        self._ancestors: list[Array] | None = None
        if kv_mode == "ancestors":
            identity = rt.upload([[row] * slots for row in range(rows)], int32)
            self._ancestors = [identity] + [rt.empty((rows, slots), int32) for _ in beams[2:]]
        layout = Rows(
            batch.row_start, batch.prompts.prompt_start, batch.prompts.prompt_len,
            *cache.prompts(arena), *self._own,
        )  # fmt: skip
        self.forward = Forward(rt, decoder, layout, self._where(0), workspace)
        if len(beams) > 2:
            op = "kv_reorder" if self._ancestors is None else "beam_ancestors"
            self._follow = Binder(rt)(op, **self._arguments(1))

    def follow(self, at: int) -> Array | None:
        """K/V of the `at` slots before follow the beams of level `at`; returns their ancestors."""
        if at > 0:
            self._follow(**self._arguments(at))
        return self._where(at)

    def _where(self, at: int) -> Array | None:
        return None if self._ancestors is None else self._ancestors[at]

    def _arguments(self, at: int) -> dict[str, object]:
        beams, batch = self._beams[at], self._batch
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

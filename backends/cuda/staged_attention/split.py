# torch's streams and events have no types:
# mypy: disable-error-code="no-untyped-call"
"""Staged attention with its stages apart, at the same time on core groups of the machine.

The unshared stage runs on a stream of its own, forked from the caller's and joined before the two
parts are merged; a capture records the same fork. CUDA gives a plain launch no SMs of its own. The
division is by the number of blocks: a stage is launched in waves of as many as so many SMs are
taken to hold. Which SMs they run on is the hardware's choice, a wave waits for the last block of
the one before it, and a stage that ends early leaves its SMs idle.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch

from xgr.backends.cuda.device import interpreting, multiprocessors
from xgr.backends.cuda.staged_attention.groups import divide
from xgr.backends.cuda.staged_attention.launch import Attention
from xgr.backends.cuda.streams import beside
from xgr.ops.dtype import dtype, float32
from xgr.ops.spec import Problem
from xgr.registry.kernel import Context, Launcher


def build(problem: Problem, context: Context) -> Launcher:
    """Divide the SMs, make the side stream, and allocate both parts."""
    return SplitAttention(problem, context)


class SplitAttention:
    """Both stages and the merge, bound to a problem of staged attention.

    Attributes:
        shared, unshared: the stages.
    """

    def __init__(self, problem: Problem, context: Context) -> None:
        a, kind = problem.sizes, problem.dtype
        rows = {"R": a["R"], "H": a["H"], "d": a["d"]}
        both = {**rows, "G": a["G"], "B": a["B"]}
        flags = {"ancestors": problem.flag("ancestors"), "bias": False}
        shared_cores, unshared_cores = divide(problem, multiprocessors(), context.config)
        shared = Problem.of("shared_attention", kind, **both, T=a["T"])
        unshared = Problem.of("unshared_attention", kind, flags, **both, S=a["S"])
        self.shared = Attention(shared, context, shared_cores)
        self.unshared = Attention(unshared, context, unshared_cores)
        self._merge = context.bind("merge_attention", Problem.of("merge_attention", kind, **rows))
        shape = (a["R"], a["H"], a["d"])
        self._outs: Any = [context.empty(shape, dtype(kind)) for _ in range(2)]
        self._lses: Any = [context.empty(shape[:2], float32) for _ in range(2)]
        # interpreted and compiled kernels have no device: one stage after the other
        self._side = None if interpreting() or not torch.cuda.is_available() else _Side()

    def __call__(
        self,
        *,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        k_unshared: torch.Tensor,
        v_unshared: torch.Tensor,
        prompt_start: torch.Tensor,
        prompt_len: torch.Tensor,
        row_start: torch.Tensor,
        live: torch.Tensor,
        step: int,
        scale: float,
        out: torch.Tensor,
        lse: torch.Tensor,
        ancestors: torch.Tensor | None = None,
    ) -> None:
        """Launch on the current stream and beside it; see `xgr.ops` for the arguments."""
        batch: dict[str, Any] = {"q": q, "row_start": row_start, "live": live, "scale": scale}
        with self._side or nullcontext():
            self.unshared(
                k_unshared=k_unshared, v_unshared=v_unshared, ancestors=ancestors, step=step,
                out=self._outs[1], lse=self._lses[1], **batch,
            )  # fmt: skip
        self.shared(
            k=k, v=v, prompt_start=prompt_start, prompt_len=prompt_len,
            out=self._outs[0], lse=self._lses[0], **batch,
        )  # fmt: skip
        if self._side is not None:
            self._side.join()
        self._merge(outs=self._outs, lses=self._lses, out=out, lse=lse)


class _Side:
    """A stream beside the caller's, to which it is tied by events."""

    def __init__(self) -> None:
        self._forked, self._ended = torch.cuda.Event(), torch.cuda.Event()

    def __enter__(self) -> None:
        """Launch on the side stream, behind what the caller's has now."""
        self._forked.record()
        stream = beside()
        stream.wait_event(self._forked)
        self._guard = torch.cuda.stream(stream)
        self._guard.__enter__()

    def __exit__(self, *exc: Any) -> None:
        """Launch on the caller's stream again."""
        self._ended.record()
        self._guard.__exit__(*exc)

    def join(self) -> None:
        """Let later launches of the caller's stream wait for those beside it."""
        torch.cuda.current_stream().wait_event(self._ended)

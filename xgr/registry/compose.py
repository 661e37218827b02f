"""Ops made of others, where a backend has no kernel of its own by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from xgr.errors import Unsupported
from xgr.ops import spec
from xgr.ops.array import Array
from xgr.ops.dtype import dtype, float32
from xgr.ops.spec import Problem
from xgr.registry.bind import Bound, BoundContext
from xgr.registry.kernel import Launcher
from xgr.registry.select import Choice


def compose(choice: Choice, context: BoundContext) -> Launcher:
    """Bind the parts of an op.

    Raises:
        Unsupported: one of them cannot run.
    """
    _, made_of = _COMPOSITIONS[choice.problem.op]
    return made_of(choice.problem, context)


def parts_of(problem: Problem) -> Sequence[Problem]:
    """What the parts of an op are bound to, in the order of its `composed_of`."""
    parts, _ = _COMPOSITIONS[problem.op]
    return parts(problem)


@contextmanager
def naming(whole: Problem) -> Iterator[None]:
    """Say of which op it is a part that cannot run."""
    try:
        yield
    except Unsupported as error:
        parts = " and ".join(spec(whole.op).composed_of)
        why = str(error).partition("\n")[0]
        text = f"{whole} would be composed of {parts}: {why}"
        raise Unsupported(text, error.reasons) from error


def _bound_parts(problem: Problem, context: BoundContext) -> Sequence[Bound]:
    with naming(problem):
        return [context.bind(part.op, part) for part in parts_of(problem)]


def _stages(problem: Problem) -> Sequence[Problem]:
    a, kind = problem.sizes, problem.dtype
    rows = {"R": a["R"], "H": a["H"], "d": a["d"]}
    both = {**rows, "G": a["G"], "B": a["B"]}
    flags = {"ancestors": problem.flag("ancestors"), "bias": False}
    return (
        Problem.of("shared_attention", kind, **both, T=a["T"]),
        Problem.of("unshared_attention", kind, flags, **both, S=a["S"]),
        Problem.of("merge_attention", kind, **rows),
    )


class _StagedAttention:
    """The stages, each into a part of its own, and their merge."""

    def __init__(self, problem: Problem, context: BoundContext) -> None:
        a = problem.sizes
        self._shared, self._unshared, self._merge = _bound_parts(problem, context)
        shape = (a["R"], a["H"], a["d"])
        self._outs = [context.empty(shape, dtype(problem.dtype)) for _ in range(2)]
        self._lses = [context.empty(shape[:2], float32) for _ in range(2)]
        self.plan = self._shared.plan

    def __call__(
        self,
        *,
        q: Array,
        k: Array,
        v: Array,
        k_unshared: Array,
        v_unshared: Array,
        prompt_start: Array,
        prompt_len: Array,
        row_start: Array,
        live: Array,
        step: int,
        scale: float,
        out: Array,
        lse: Array,
        ancestors: Array | None = None,
    ) -> None:
        outs, lses = self._outs, self._lses
        self._shared(
            q=q, k=k, v=v, prompt_start=prompt_start, prompt_len=prompt_len,
            row_start=row_start, live=live, scale=scale, out=outs[0], lse=lses[0],
        )  # fmt: skip
        self._unshared(
            q=q, k=k_unshared, v=v_unshared, row_start=row_start, live=live, ancestors=ancestors,
            bias=None, step=step, scale=scale, out=outs[1], lse=lses[1],
        )  # fmt: skip
        self._merge(outs=outs, lses=lses, out=out, lse=lse)


def _product_and_gate(problem: Problem) -> Sequence[Problem]:
    a, kind = problem.sizes, problem.dtype
    return (
        Problem.of("linear", kind, {"bias": False}, N=a["N"], I=a["h"], O=2 * a["I"]),
        Problem.of("normed_swiglu", kind, **a),
    )


class _LinearSwiglu:
    """The product, into a workspace, and the gate."""

    def __init__(self, problem: Problem, context: BoundContext) -> None:
        a = problem.sizes
        self._linear, self._gate = _bound_parts(problem, context)
        self._gate_up = context.scratch((a["N"], 2 * a["I"]), dtype(problem.dtype))

    def __call__(self, *, x: Array, weight: Array, out: Array, eps: float) -> None:
        self._linear(x=x, weight=weight, out=self._gate_up)
        self._gate(gate_up=self._gate_up, hidden=x, out=out, eps=eps)


_COMPOSITIONS: Mapping[
    str, tuple[Callable[[Problem], Sequence[Problem]], Callable[[Problem, BoundContext], Launcher]]
] = {
    "linear_swiglu": (_product_and_gate, _LinearSwiglu),
    "staged_attention": (_stages, _StagedAttention),
}

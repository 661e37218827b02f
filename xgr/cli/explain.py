"""`xgr explain`: which kernel serves a problem, and why not the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from xgr.cli import options
from xgr.errors import InputError
from xgr.models.parameters import norms_behind
from xgr.models.steps import Step, decode_step
from xgr.ops import spec
from xgr.ops.spec import Flag, OpSpec, Problem
from xgr.registry.explain import Explanation
from xgr.registry.select import Choice
from xgr.runtime import Runtime

# names in place of an op the step of a whole decode
STEP = "decode"


def explain(
    op: Annotated[
        str, typer.Argument(help=f"Op, as `xgr ops list` names it, or {STEP}: all ops of a step.")
    ],
    sizes: Annotated[list[str], typer.Argument(help="Axis sizes and flags: R=512 order=rank.")],
    device: options.Device = "cpu",
    soc: options.Soc = None,
    dtype: Annotated[str, typer.Option(help="Model dtype.")] = "float32",
    kernel: Annotated[str | None, typer.Option(help="Force this kernel.")] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Print every candidate kernel with chosen, beaten or unsupported, and why.

    Example: xgr explain beam_sort B=1 R=512 C=256 RO=128 order=rank
    """
    rt = options.here_or_planned(device, soc)
    if op == STEP:
        _explain_step(rt, sizes, dtype, as_json)
        return
    rt.kernels(op)  # an unknown op lists the known ones
    told = rt.explain(op, _problem(spec(op), sizes, dtype), kernel)
    typer.echo(json.dumps(told.to_json(), indent=1) if as_json else str(told))


def _explain_step(rt: Runtime, sizes: Sequence[str], dtype: str, as_json: bool) -> None:
    """The chosen kernel of every op of a decode step, and what it runs where the backend tells."""
    behind = norms_behind(rt, dtype)
    steps = list(decode_step(_numbers(sizes), dtype, rt.backend.kv_mode, norms_behind=behind))
    chosen = [(step, rt.explain(step.problem.op, step.problem)) for step in steps]
    if as_json:
        told = [{"what": s.what, "times": s.times, **e.to_json()} for s, e in chosen]
        typer.echo(json.dumps(told, indent=1))
        return
    for text in rt.backend.facts():
        typer.echo(text)
    for step, explanation in chosen:
        for text in (*_lines(step, explanation), *_divided(rt, explanation.choice)):
            typer.echo(text)


def _lines(step: Step, explanation: Explanation) -> Iterator[str]:
    choice, outline = explanation.choice, explanation.outline
    name = choice.kernel.name if choice.kernel else f"composed of {', '.join(choice.parts)}"
    times = f"{step.times} x " if step.times > 1 else ""
    yield f"{step.what}: {times}{choice.problem.op} by {name}"
    if outline is not None:
        yield from (f"  {text}" for text in outline.lines())
    for part in explanation.parts:
        yield from (f"  {text}" for text in (part.outline.lines() if part.outline else ()))


def _divided(rt: Runtime, choice: Choice) -> Iterator[str]:
    """How kernels that were not chosen would divide the cores; a tuned table may choose them."""
    for candidate in choice.candidates:
        if candidate.verdict == "beaten":
            outline = rt.backend.outline(candidate.kernel, choice.problem, {})
            for text in outline.groups if outline is not None else ():
                yield f"  or {candidate.kernel.name}: core groups: {text}"


def _numbers(sizes: Sequence[str]) -> dict[str, int]:
    numbers = {}
    for text in sizes:
        name, equals, value = text.partition("=")
        if not equals or not value.isdecimal():
            raise InputError(f"{text!r} is no axis size, as R=512 is")
        numbers[name] = int(value)
    return numbers


def _problem(declared: OpSpec, sizes: list[str], dtype: str) -> Problem:
    flags: dict[str, Flag] = {a.name: False for a in declared.args if a.optional}
    flags |= {s.name: s.choices[0] if s.choices else False for s in declared.scalars if s.flag}
    given: dict[str, int] = {}
    for text in sizes:
        name, equals, value = text.partition("=")
        if name in flags and equals:
            flags[name] = {"true": True, "false": False}.get(value.lower(), value)
        elif name in declared.axes and value.isdecimal():
            given[name] = int(value)
        else:
            raise InputError(
                f"{text!r} is neither an axis size nor a flag of {declared.name}; axes: "
                f"{', '.join(declared.axes)}; flags: {', '.join(flags) or 'none'}"
            )
    return Problem.of(declared.name, dtype, flags, **given)

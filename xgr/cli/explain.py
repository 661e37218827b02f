"""`xgr explain`: which kernel serves a problem, and why not the others."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from xgr.cli import options
from xgr.errors import InputError
from xgr.ops import spec
from xgr.ops.spec import Flag, OpSpec, Problem
from xgr.runtime import runtime


def explain(
    op: Annotated[str, typer.Argument(help="Op, as `xgr ops list` names it.")],
    sizes: Annotated[list[str], typer.Argument(help="Axis sizes and flags: R=512 order=rank.")],
    device: options.Device = "cpu",
    dtype: Annotated[str, typer.Option(help="Model dtype.")] = "float32",
    kernel: Annotated[str | None, typer.Option(help="Force this kernel.")] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Print every candidate kernel with chosen, beaten or unsupported, and why.

    Example: xgr explain beam_sort B=1 R=512 C=256 RO=128 order=rank
    """
    rt = runtime(device)
    rt.kernels(op)  # an unknown op lists the known ones
    found = rt.explain(op, _problem(spec(op), sizes, dtype), kernel)
    typer.echo(json.dumps(found.to_json(), indent=1) if as_json else str(found))


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

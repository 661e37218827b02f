# torch.library.Library has no types:
# mypy: disable-error-code="no-untyped-call"
"""Operators of torch from the declarations of the ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from xgr.ops import specs
from xgr.ops.spec import TORCH_NAMES, Arg, OpSpec, Values
from xgr.torch.launch import LAUNCHES

_LIBRARY = torch.library.Library("xgr", "DEF")  # operators live as long as it does
_TAGS = (torch.Tag.pt2_compliant_tag,)
_NAMES = {theirs: ours for ours, theirs in TORCH_NAMES.items()}

Operator = Callable[..., Any]


def register() -> None:
    """Define every declared op, once a process."""
    for declared in specs().values():
        _define_writing(declared)
        if any(arg.role == "out" for arg in declared.args):
            _define_returning(declared)


def _define_writing(declared: OpSpec) -> None:
    """The op as it is declared: an implementation for each dispatch key."""
    schema = declared.schema()
    name = schema.partition("(")[0]
    _LIBRARY.define(schema, tags=_TAGS)
    for key, launch in LAUNCHES.items():
        _LIBRARY.impl(name, _writing(declared, launch), key)

    def shapes(*positional: Any, **keywords: Any) -> None:
        declared.sizes_of(_named(declared, positional, keywords))

    torch.library.register_fake(f"xgr::{name}", shapes, lib=_LIBRARY)


def _writing(declared: OpSpec, launch: Callable[[OpSpec, Values], None]) -> Operator:
    def write(*positional: Any, **keywords: Any) -> None:
        launch(declared, _named(declared, positional, keywords))

    return write


def _define_returning(declared: OpSpec) -> None:
    """Outputs are allocated and the op that writes them is called, whatever the device."""
    _LIBRARY.define(declared.schema(returned=True), tags=_TAGS)
    write = getattr(torch.ops.xgr, declared.name).out

    def outputs(values: Values) -> Values:
        given = {axis: values.pop(axis) for axis in declared.asked}
        sizes = declared.output_sizes(values, given)
        return {
            arg.name: _like(declared, values, arg, declared.shape(arg, sizes))
            for arg in declared.args
            if arg.role == "out"
        }

    def launched(*positional: Any, **keywords: Any) -> Any:
        values = _named(declared, positional, keywords)
        made = outputs(values)
        write(**{TORCH_NAMES.get(name, name): value for name, value in (values | made).items()})
        return _result(made)

    def shaped(*positional: Any, **keywords: Any) -> Any:
        values = _named(declared, positional, keywords)
        made = outputs(values)
        declared.sizes_of(values | made)
        return _result(made)

    _LIBRARY.impl(declared.name, launched, "CompositeExplicitAutograd")
    torch.library.register_fake(f"xgr::{declared.name}", shaped, lib=_LIBRARY)


def _named(declared: OpSpec, positional: tuple[Any, ...], keywords: Values) -> Values:
    """Arguments by name; torch leaves out those that have their default."""
    absent = {arg.name: None for arg in declared.args if arg.optional}
    required = (arg.name for arg in declared.required)
    named = {_NAMES.get(name, name): value for name, value in keywords.items()}
    return absent | dict(zip(required, positional, strict=False)) | named


def _like(declared: OpSpec, values: Values, arg: Arg, shape: tuple[int, ...]) -> torch.Tensor:
    """A new output beside the inputs, of the model's type where the declaration says so."""
    tensors = list(declared.tensors(values))
    kind = getattr(torch, arg.dtype) if arg.dtype != "model" else None
    for known, tensor in tensors:
        if kind is None and known.dtype == "model":
            kind = tensor.dtype
    made: torch.Tensor = tensors[0][1].new_empty(shape, dtype=kind)
    return made


def _result(made: Values) -> Any:
    outputs = tuple(made.values())
    return outputs if len(outputs) > 1 else outputs[0]

"""Tries and filters as the lists of tensors that operators take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from xgr.errors import InputError
from xgr.ops.array import Filters, Trie, TrieLevel
from xgr.ops.spec import OpSpec, Values

Tensors = Sequence[torch.Tensor]

# arrays of filters before the words of each level, and their ranks
_FIELDS = (("kind", 1), ("start", 2), ("nodes", 2), ("mask", 1))


def trie_list(trie: Trie) -> list[Any]:
    """[code, first_child] of every level from the first on, without first_child at the last."""
    arrays = [array for level in trie.levels for array in (level.code, level.first_child)]
    return arrays[:-1]


def filters_list(filters: Filters) -> list[Any]:
    """[kind, start, nodes, mask, words of every level]."""
    return [*(getattr(filters, name) for name, _ in _FIELDS), *filters.words]


def tensors_of(declared: OpSpec, values: Values) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of a call, those of structures included, with its name."""
    for arg in declared.args:
        value = values.get(arg.name)
        if isinstance(value, torch.Tensor):
            yield arg.name, value
        elif value is not None:
            yield from ((f"{arg.name}[{i}]", one) for i, one in enumerate(value))


def structures(declared: OpSpec, values: Values, native: Callable[[torch.Tensor], Any]) -> Values:
    """The arguments as a runtime takes them: native arrays, `Trie` and `Filters`.

    Raises:
        InputError: the list of a structure has another length, or a tensor of it another type.
    """
    arguments = dict(values)
    level_sizes = arguments.pop("level_sizes", None)
    for arg in declared.args:
        value = values.get(arg.name)
        if value is None:
            continue
        if arg.struct == "trie":
            arguments[arg.name] = _trie(declared.name, value, level_sizes, native)
        elif arg.struct == "filters":
            arguments[arg.name] = _filters(declared.name, value, native)
        else:
            arguments[arg.name] = [*map(native, value)] if arg.many else native(value)
    return arguments


def _trie(op: str, tensors: Tensors, sizes: Sequence[int] | None, native: Any) -> Trie:
    if sizes is None or len(tensors) != 2 * len(sizes) - 1:
        raise InputError(
            f"{op}: trie is a list of {len(tensors)} tensors and level_sizes is {sizes}: for D "
            "levels 2 D - 1 tensors and D sizes, as xgr.torch.constraint gives them"
        )
    for at, tensor in enumerate(tensors):
        # first_child has an element more than the code before it
        _check(op, f"trie[{at}]", tensor, torch.int32, 1)
        if at % 2 and tensor.shape[0] != tensors[at - 1].shape[0] + 1:
            raise InputError(
                f"{op}: trie[{at}] has {tensor.shape[0]} elements, "
                f"need {tensors[at - 1].shape[0] + 1}, one more than trie[{at - 1}]"
            )
    arrays = [native(tensor) for tensor in tensors] + [None]
    levels = tuple(TrieLevel(*arrays[at : at + 2]) for at in range(0, len(arrays), 2))
    return Trie(levels, tuple(sizes), "given to torch")


def _filters(op: str, tensors: Tensors, native: Any) -> Filters:
    depth = tensors[1].shape[0] if len(tensors) > 1 and tensors[1].dim() else 0
    if len(tensors) != len(_FIELDS) + depth:
        named = ", ".join(name for name, _ in _FIELDS)
        raise InputError(
            f"{op}: filters are {len(tensors)} tensors: need {named} and the words of every level, "
            "as xgr.torch.constraint gives them"
        )
    for tensor, (name, rank) in zip(tensors, _FIELDS, strict=False):
        _check(op, f"filters, {name}", tensor, torch.int32, rank)
    for level, tensor in enumerate(tensors[len(_FIELDS) :]):
        _check(op, f"filters, words of level {level}", tensor, torch.uint32, 2)
    kind, start, nodes, mask, *words = map(native, tensors)
    return Filters(kind, start, nodes, mask, tuple(words))


def _check(op: str, name: str, tensor: torch.Tensor, kind: torch.dtype, rank: int) -> None:
    if tensor.dtype != kind or tensor.dim() != rank or not tensor.is_contiguous():
        raise InputError(
            f"{op}: {name} is {tensor.dtype} of shape {list(tensor.shape)} with strides "
            f"{list(tensor.stride())}: need {kind} with {rank} axes, contiguous"
        )

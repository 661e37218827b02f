"""The explicit map between codes and what spells them: tokens, token ids, or the codes alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from xgr.catalog.build import MAX_DEPTH
from xgr.catalog.search import Int32s
from xgr.errors import CatalogueError, InputError

Label = str | int
LabelKind = Literal["token", "code", "token_id"]
KINDS: tuple[str, ...] = get_args(LabelKind)

_TOKEN = re.compile(r"<[^<>\s]*?([0-9]+)>")
_SPELLED = re.compile(r"(?:<[^<>]*>)+")
_LEVEL_TOKEN = re.compile(r"<(?:\w+_)?([a-p])_([0-9]+)>")
_MARKS = ("<|sid_begin|>", "<|sid_end|>")


@dataclass(frozen=True)
class Labels:
    """What each code of each level is called.

    Attributes:
        kind: "token" (strings such as "<a_12>"), "token_id" (a tokenizer's ids) or "code" (the
            code is its own label).
        levels: D sequences; levels[l][code] is a label. A range where the kind is "code".
    """

    kind: LabelKind
    levels: tuple[Sequence[Label], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """K_l, the number of codes of each level."""
        return tuple(len(level) for level in self.levels)

    def codes_of(self, sid: str | Sequence[Any]) -> list[int]:
        """Codes of a SID as a person or a file writes it; -1 for a label that is not there.

        Takes "<a_1><b_2><c_3>" (with or without <|sid_begin|> and <|sid_end|>), "1,2,3", or a
        sequence of labels. Plain numbers are codes for kind "code", ids for "token_id", and for
        "token" the numbers inside the tokens: "1,2,3" is "<a_1><b_2><c_3>".

        Raises:
            InputError: another number of levels than D, or a text of none of these shapes.
        """
        labels = _split(sid) if isinstance(sid, str) else list(sid)
        if len(labels) != len(self.levels):
            raise InputError(
                f"SID {sid!r} has {len(labels)} levels; this catalogue has {len(self.levels)}"
            )
        return [self._code(level, label) for level, label in enumerate(labels)]

    def _code(self, level: int, label: Any) -> int:
        number = _number(label)
        if self.kind == "code":
            if number is None and isinstance(label, str):
                number = _own_number(level, label)
            return number if number is not None and number < len(self.levels[level]) else -1
        if number is None:
            return self._index[level].get(label, -1)
        return self._numbered[level].get(number, -1)

    @cached_property
    def _index(self) -> list[dict[Label, int]]:
        return [{label: code for code, label in enumerate(level)} for level in self.levels]

    @cached_property
    def _numbered(self) -> list[dict[int, int]]:
        return [by_number(level) for level in self.levels]


def code_labels(sizes: Sequence[int]) -> Labels:
    """Labels of plain codes."""
    return Labels("code", tuple(range(size) for size in sizes))


def checked_labels(levels: Sequence[Sequence[Label]], where: str = "") -> Labels:
    """Labels given by a caller, in code order.

    Raises:
        CatalogueError: an empty level, a label twice in a level, or strings mixed with integers.
    """
    kinds = {type(label) for level in levels for label in level}
    if kinds == {str}:
        kind: LabelKind = "token"
    elif kinds == {int}:
        kind = "token_id"
    else:
        names = ", ".join(sorted(k.__name__ for k in kinds)) or "nothing"
        raise CatalogueError(f"{where}labels are {names}; give all strings or all integers")
    for level, names_of_level in enumerate(levels):
        if not len(names_of_level):
            raise CatalogueError(f"{where}level {level} has no labels")
        if len(set(names_of_level)) != len(names_of_level):
            twice = next(x for x in names_of_level if list(names_of_level).count(x) > 1)
            raise CatalogueError(f"{where}level {level} has the label {twice!r} twice")
    return Labels(kind, tuple(tuple(level) for level in levels))


def encode_rows(
    rows: Sequence[Sequence[Label]],
    item_ids: Sequence[Any],
    *,
    int_kind: LabelKind,
    pad_code: str | None,
    where: str = "",
) -> tuple[Int32s, Labels]:
    """Codes and labels of rows of tokens, or of integers.

    Tokens of a level are numbered in the natural order of their trailing integers ("<a_2>" before
    "<a_10>"), token ids in ascending order; `pad_code` comes last.

    Args:
        rows: one sequence of labels an item, all strings or all integers.
        item_ids: ids of the rows, for messages.
        int_kind: what integers mean: "code" or "token_id".
        pad_code: explicit last code that fills rows up to the longest, or None: ragged rows are
            refused. An integer where the labels are integers.
        where: prefix for messages.

    Returns:
        int32 [N, D] and the labels.

    Raises:
        CatalogueError: naming the first row (counted from 0) and item that is wrong, and why.
    """
    if not rows:
        raise CatalogueError(f"{where}the catalogue is empty; give at least one item")

    def name(row: int) -> str:
        return f"{where}row {row} (item {item_ids[row]!r})"

    kind = _kind_of(rows, int_kind, name)
    depth = _depth_of(rows, pad_code, name)
    pad = None if pad_code is None else _pad_label(pad_code, kind, where)
    padded = pad is not None and any(len(row) < depth for row in rows)
    codes = np.empty((len(rows), depth), dtype=np.int32)
    levels: list[Sequence[Label]] = []
    for level in range(depth):
        column = [row[level] if level < len(row) else pad for row in rows]
        short = {pad} if padded and any(len(row) <= level for row in rows) else set()
        used = {row[level] for row in rows if level < len(row)}
        if short & used:
            raise CatalogueError(f"{where}level {level} uses {pad!r} already; choose another name")
        ordered = _ordered(used, kind)
        ordered += [label for label in short if label is not None]
        levels.append(_level_labels(ordered, kind, bool(short), where))
        index = {label: code for code, label in enumerate(levels[-1])}
        codes[:, level] = [index[label] for label in column if label is not None]
    return codes, Labels(kind, tuple(levels))


def trailing_number(token: str) -> int | None:
    """The integer that a code token ends with, "<a_12>" -> 12."""
    match = _TOKEN.fullmatch(token)
    return int(match[1]) if match else None


def by_number(labels: Sequence[Label]) -> dict[int, int]:
    """Code of each label's number: its own value, or a token's trailing integer if unambiguous."""
    found: dict[int, int] = {}
    twice = set()
    for code, label in enumerate(labels):
        number = label if isinstance(label, int) else trailing_number(label)
        if number is not None and found.setdefault(number, code) != code:
            twice.add(number)
    return {number: code for number, code in found.items() if number not in twice}


def natural_order(labels: set[str]) -> list[str]:
    """Tokens by trailing integer, then by text; those without one come last."""
    return sorted(labels, key=lambda token: (_sort_number(token), token))


def _sort_number(token: str) -> float:
    number = trailing_number(token)
    return float("inf") if number is None else number


def _kind_of(
    rows: Sequence[Sequence[Label]], int_kind: LabelKind, name: Callable[[int], str]
) -> LabelKind:
    wanted = type(rows[0][0]) if len(rows[0]) else str
    for row, labels in enumerate(rows):
        for label in labels:
            if type(label) is not wanted:
                raise CatalogueError(
                    f"{name(row)}: {label!r} is a {type(label).__name__}, but the first row has "
                    f"{wanted.__name__}; all codes must be strings or all integers"
                )
            if isinstance(label, str):
                if trailing_number(label) is None:
                    raise CatalogueError(
                        f"{name(row)}: unknown token shape {label!r}; code tokens look like "
                        '"<a_12>": angle brackets around a name that ends with a number'
                    )
            elif label < 0:
                raise CatalogueError(f"{name(row)}: code {label} is negative")
            elif label >= 2**31 - 1:
                raise CatalogueError(f"{name(row)}: code {label} is out of the int32 range")
    return "token" if wanted is str else int_kind


def _depth_of(
    rows: Sequence[Sequence[Label]], pad_code: str | None, name: Callable[[int], str]
) -> int:
    first = len(rows[0])
    for row, labels in enumerate(rows):
        if not len(labels):
            raise CatalogueError(f"{name(row)}: the SID is empty")
        if len(labels) != first and pad_code is None:
            raise CatalogueError(
                f"{name(row)}: {len(labels)} codes, but the first row has {first}; SIDs of one "
                "catalogue have one depth (pad_code=NAME, --pad-code NAME, appends an explicit "
                "last code to short ones)"
            )
    depth = max(len(labels) for labels in rows)
    if depth > MAX_DEPTH:
        row = next(row for row, labels in enumerate(rows) if len(labels) > MAX_DEPTH)
        raise CatalogueError(f"{name(row)}: {len(rows[row])} codes; at most {MAX_DEPTH} allowed")
    return depth


def _pad_label(pad_code: str, kind: LabelKind, where: str) -> Label:
    if kind == "token":
        return pad_code
    if not pad_code.isdecimal():
        raise CatalogueError(
            f"{where}pad code {pad_code!r} must be an integer, as this catalogue's codes are"
        )
    return int(pad_code)


def _ordered(used: set[Any], kind: LabelKind) -> list[Label]:
    return list(natural_order(used)) if kind == "token" else sorted(used)


def _level_labels(
    ordered: list[Label], kind: LabelKind, padded: bool, where: str
) -> Sequence[Label]:
    if kind != "code":
        return tuple(ordered)
    numbers = [int(label) for label in ordered]
    if padded and len(numbers) > 1 and numbers[-1] < max(numbers):
        raise CatalogueError(
            f"{where}pad code {numbers[-1]} must be above every code of its level, {max(numbers)}"
        )
    return range(max(numbers) + 1)


def _split(sid: str) -> list[Any]:
    text = sid.strip()
    for mark in _MARKS:
        text = text.replace(mark, "")
    if _SPELLED.fullmatch(text):
        return re.findall(r"<[^<>]*>", text)
    parts = [part.strip() for part in text.split(",")]
    if all(part.isascii() and part.isdecimal() for part in parts):
        return [int(part) for part in parts]
    raise InputError(
        f"SID {sid!r} has an unknown shape; write <a_1><b_2><c_3>, 1,2,3 or a list of labels"
    )


def _number(label: Any) -> int | None:
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return int(label) if label >= 0 else None
    return None


def _own_number(level: int, token: str) -> int | None:
    # Plain codes have no spelling of their own: the letter of <a_1> or <s_a_1> names the level.
    match = _LEVEL_TOKEN.fullmatch(token)
    return int(match[2]) if match and ord(match[1]) - ord("a") == level else None

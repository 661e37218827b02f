"""The explicit map between codes and what spells them: tokens, token ids, or the codes alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from xgr.catalog.build import INT32_MAX, MAX_DEPTH
from xgr.catalog.given import is_unicode, shown
from xgr.catalog.search import Int32s
from xgr.errors import CatalogueError, InputError

Label = str | int
LabelKind = Literal["token", "code", "token_id"]
KINDS: tuple[str, ...] = get_args(LabelKind)

# Numbers of more digits name no code, and Python refuses to read thousands of them.
_TOKEN = re.compile(r"<[^<>\s]*?(?<![0-9])([0-9]{1,18})>")
_TOKENS = re.compile(r"(?:<[^<>\s]+>)+")
_LEVEL_TOKEN = re.compile(r"<(?:\w+_)?([a-p])_([0-9]{1,18})>")
_DIGITS = re.compile(r"[0-9]+")
_MOST_DIGITS = 18
_BEGIN, _END = "<|sid_begin|>", "<|sid_end|>"


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
            InputError: another number of levels than D, or none of these shapes.
        """
        labels = _split(sid) if isinstance(sid, str) else _checked(sid)
        if len(labels) != len(self.levels):
            raise InputError(
                f"SID {shown(sid)} has {len(labels)} levels; this catalogue has {len(self.levels)}"
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
        CatalogueError: an empty level, a label twice in a level, strings mixed with integers, a
            negative integer, or a string that is not Unicode.
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
            twice = Counter(names_of_level).most_common(1)[0][0]
            raise CatalogueError(f"{where}level {level} has the label {shown(twice)} twice")
        for label in names_of_level:
            reason = _fault_of(label)
            if reason:
                raise CatalogueError(f"{where}level {level}: {reason}")
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
        return f"{where}row {row} (item {shown(item_ids[row])})"

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
        if kind == "code":
            levels.append(_plain_codes(used, pad if short else None, where))
            codes[:, level] = np.asarray(column, dtype=np.int32)
            continue
        ordered = _ordered(used, kind)
        ordered += [label for label in short if label is not None]
        levels.append(tuple(ordered))
        index = {label: code for code, label in enumerate(ordered)}
        codes[:, level] = [index[label] for label in column if label is not None]
    return codes, Labels(kind, tuple(levels))


def split_tokens(text: str) -> list[str] | None:
    """Tokens of "<a_1><b_2>", with or without <|sid_begin|> and <|sid_end|> around them.

    None for a text with anything else in it, between the tokens or around them.
    """
    bare = text.strip().removeprefix(_BEGIN).removesuffix(_END)
    return re.findall(r"<[^<>]+>", bare) if _TOKENS.fullmatch(bare) else None


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
    if wanted not in (str, int):
        raise CatalogueError(
            f"{name(0)}: code {shown(rows[0][0])} is a {wanted.__name__}; codes are tokens or "
            "integers"
        )
    for row, labels in enumerate(rows):
        for label in labels:
            if type(label) is not wanted:
                raise CatalogueError(
                    f"{name(row)}: code {shown(label)} is a {type(label).__name__}, but the first "
                    f"row has {wanted.__name__}; all codes must be tokens or all integers"
                )
            if isinstance(label, str) and trailing_number(label) is None:
                raise CatalogueError(
                    f"{name(row)}: unknown token shape {shown(label)}; code tokens look like "
                    '"<a_12>": angle brackets around a name that ends with a number'
                )
            reason = _fault_of(label)
            if reason:
                raise CatalogueError(f"{name(row)}: {reason}")
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
    if kind != "token" and not _DIGITS.fullmatch(pad_code):
        raise CatalogueError(
            f"{where}pad code {shown(pad_code)} must be an integer, as this catalogue's codes are"
        )
    pad: Label = pad_code if kind == "token" else _as_number(pad_code)
    reason = _fault_of(pad) if pad_code else "is empty"
    if reason:
        raise CatalogueError(f"{where}pad code: {reason}")
    return pad


def _ordered(used: set[Any], kind: LabelKind) -> list[Label]:
    return list(natural_order(used)) if kind == "token" else sorted(used)


def _plain_codes(used: set[Any], pad: Label | None, where: str) -> Sequence[Label]:
    # A range, whatever the numbers: a level of few but large codes must not cost their size.
    highest = max(used, default=-1)
    if pad is None:
        return range(highest + 1)
    if int(pad) < highest:
        raise CatalogueError(
            f"{where}pad code {pad} must be above every code of its level, {highest}"
        )
    return range(int(pad) + 1)


def _fault_of(label: Label) -> str | None:
    if isinstance(label, str):
        return None if is_unicode(label) else f"{shown(label)} is not Unicode text"
    if label < 0:
        return f"code {shown(label)} is negative"
    return f"code {shown(label)} is out of the int32 range" if label >= INT32_MAX else None


def _split(sid: str) -> list[Any]:
    tokens = split_tokens(sid)
    if tokens is not None:
        return tokens
    parts = [part.strip() for part in sid.split(",")]
    if all(_DIGITS.fullmatch(part) for part in parts):
        return [_as_number(part) for part in parts]
    raise _unknown_shape(sid)


def _checked(sid: Any) -> list[Any]:
    if not isinstance(sid, (Sequence, np.ndarray)) or isinstance(sid, (bytes, bytearray)):
        raise _unknown_shape(sid)
    if isinstance(sid, np.ndarray) and sid.ndim != 1:
        raise _unknown_shape(sid)
    labels = list(sid)
    for label in labels:
        if not isinstance(label, (str, int, np.integer)) or isinstance(label, bool):
            raise _unknown_shape(sid)
    return labels


def _unknown_shape(sid: Any) -> InputError:
    return InputError(
        f"SID {shown(sid)} has an unknown shape; write <a_1><b_2><c_3>, 1,2,3 or a list of labels"
    )


def _as_number(digits: str) -> int:
    # No code is as large as what has more digits.
    bare = digits.lstrip("0") or "0"
    return int(bare) if len(bare) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _number(label: Any) -> int | None:
    if isinstance(label, (int, np.integer)):
        return int(label) if label >= 0 else None
    return None


def _own_number(level: int, token: str) -> int | None:
    # Plain codes have no spelling of their own: the letter of <a_1> or <s_a_1> names the level.
    match = _LEVEL_TOKEN.fullmatch(token)
    return int(match[2]) if match and ord(match[1]) - ord("a") == level else None

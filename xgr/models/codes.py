"""Codes and tokens: which tokens spell the codes of each level, and the map from one to the other.

The map is explicit. Nothing is computed from a first id and a stride: code tokens are often
neither contiguous nor in numeric order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from xgr.errors import InputError
from xgr.models.tokenizer import Tokenizer

PLACE: Final = "{code}"
_NUMBER: Final = re.compile(r"\d+(?=\D*$)")


def infer_patterns(labels: Sequence[str]) -> tuple[str, ...] | None:
    """The code-token patterns behind one item's labels, such as `<a_{code}>` from `<a_236>`.

    The last number of each label is its code. None when a label has no number, or is a number
    alone, which any text tokenizer has many of.
    """
    patterns = tuple(_NUMBER.sub(PLACE, label) for label in labels)
    if not patterns or any(PLACE not in pattern or pattern == PLACE for pattern in patterns):
        return None
    return patterns


def level_labels(tokenizer: Tokenizer, patterns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """All tokens that match each level's pattern, in the natural order of their codes.

    Args:
        tokenizer: where the tokens are looked up.
        patterns: one a level, each with one `{code}`.

    Returns:
        For each level its labels; position is code.

    Raises:
        InputError: a pattern that no token matches, with its level.
    """
    levels = []
    for level, pattern in enumerate(patterns):
        before, after = pattern.split(PLACE)
        matcher = re.compile(f"{re.escape(before)}([0-9]+){re.escape(after)}")
        coded = ((_code(matcher, label), label) for label in tokenizer.vocabulary)
        found = sorted((code, label) for code, label in coded if code is not None)
        if not found:
            raise InputError(
                f"level {level}: no token of the tokenizer matches {pattern!r}; "
                "give the checkpoint's own code_tokens in xgr.json"
            )
        levels.append(tuple(label for _, label in found))
    return tuple(levels)


def token_ids(tokenizer: Tokenizer, labels: Sequence[str], level: int = 0) -> tuple[int, ...]:
    """Token ids of the codes of one level: entry c is the token of code c.

    Args:
        tokenizer: the checkpoint's tokenizer.
        labels: the level's tokens in code order.
        level: the level's number, for the error.

    Raises:
        InputError: a label that is unknown, that is more than one token, or that comes twice.
    """
    if len(set(labels)) != len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise InputError(f"level {level}: {twice!r} stands for two codes; each code needs its own")
    known = tokenizer.vocabulary
    for label, encoded in zip(labels, tokenizer.encode_each(labels), strict=True):
        if label not in known:
            raise InputError(
                f"level {level}: {label!r} is not a token of this tokenizer ({len(tokenizer)} "
                "tokens); the catalogue and the model do not belong together"
            )
        if encoded != [known[label]]:
            raise InputError(
                f"level {level}: {label!r} is tokenized as {len(encoded)} tokens "
                f"{tokenizer.tokens(encoded)}; a code must be one token: add it to the tokenizer"
            )
    return tuple(known[label] for label in labels)


def _code(matcher: re.Pattern[str], label: str) -> int | None:
    match = matcher.fullmatch(label)
    return int(match[1]) if match else None

"""Item ids by position and positions by item id, for integer and for text ids."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xgr.catalog.arrays import Sinks
from xgr.catalog.given import is_unicode, shown
from xgr.catalog.order import BLOCK
from xgr.catalog.search import Bools, Int32s, Int64s, lower_bound
from xgr.errors import CatalogueError, InputError

ItemId = int | str
Ids = Sequence[ItemId] | npt.NDArray[Any]

# Up to so many ids a loop of Python's bisect is faster than vectorised steps.
FEW = 64

_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class IntegerIds:
    """Integer ids.

    Attributes:
        values: int32 or int64 [N], id of each position.
        rank: int32 [N], positions in ascending order of their ids.
    """

    values: npt.NDArray[Any]
    rank: Int32s
    kind: Literal["integer"] = "integer"

    def __getitem__(self, position: int) -> int:
        """Id of the item at a position."""
        return int(self.values[position])

    def take(self, positions: Int64s) -> list[ItemId]:
        """Ids of the items at positions."""
        taken: list[ItemId] = self.values[positions].tolist()
        return taken

    def find(self, ids: Ids) -> Int64s:
        """Position of each id, or -1; "7" finds the item 7."""
        wanted, known = _as_int64(ids)
        with _whole():
            at = np.clip(wanted, 0, len(self.rank) - 1) if self._dense else self._rank_of(wanted)
            positions = self.rank[np.minimum(at, len(self.rank) - 1)].astype(np.int64)
            return np.where(known & (self.values[positions] == wanted), positions, -1)

    def _rank_of(self, wanted: Int64s) -> Int64s:
        if len(wanted) <= FEW:
            value_at = _Ordered(self.values, self.rank)
            return np.asarray([bisect_left(value_at, item) for item in wanted], dtype=np.int64)
        low = np.zeros(len(wanted), dtype=np.int64)
        high = np.full(len(wanted), len(self.rank), dtype=np.int64)
        return lower_bound(lambda index: self.values[self.rank[index]], low, high, wanted)

    @cached_property
    def _dense(self) -> bool:
        # Distinct ids that run from 0 to N - 1 are all of them: the rank is the look-up itself.
        first, last = self.values[self.rank[0]], self.values[self.rank[-1]]
        return bool(first == 0 and last == len(self.rank) - 1)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is saved, by name."""
        return {"item_ids": self.values, "item_rank": self.rank}


@dataclass(frozen=True)
class Texts:
    """Strings as UTF-8 bytes: text i is data[offsets[i]:offsets[i+1]]."""

    offsets: Int64s
    data: npt.NDArray[np.uint8]

    def __getitem__(self, index: int) -> str:
        """One text."""
        raw = bytes(self.data[self.offsets[index] : self.offsets[index + 1]])
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise _damaged(f"text {index} is not UTF-8") from None


@dataclass(frozen=True)
class TextIds:
    """Text ids, found by the order of their hashes and then compared.

    Attributes:
        texts: id of each position.
        hashes: uint64 [N], ascending.
        rank: int32 [N], position of each hash.
    """

    texts: Texts
    hashes: npt.NDArray[np.uint64]
    rank: Int32s
    kind: Literal["text"] = "text"

    def __getitem__(self, position: int) -> str:
        """Id of the item at a position."""
        return self.texts[position]

    def take(self, positions: Int64s) -> list[ItemId]:
        """Ids of the items at positions."""
        return [self.texts[position] for position in positions.tolist()]

    def find(self, ids: Ids) -> Int64s:
        """Position of each id, or -1; 7 finds the item "7"."""
        with _whole():
            return np.asarray([self._find_one(_text(item)) for item in ids], dtype=np.int64)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is saved, by name."""
        return {
            "item_texts.offsets": self.texts.offsets,
            "item_texts": self.texts.data,
            "item_hashes": self.hashes,
            "item_rank": self.rank,
        }

    def _find_one(self, name: str) -> int:
        if not is_unicode(name):
            return -1
        wanted = np.uint64(_hash(name))
        at = bisect_left(self.hashes, wanted)
        # Ids whose hashes collide lie side by side.
        while at < len(self.hashes) and self.hashes[at] == wanted:
            position = int(self.rank[at])
            if self.texts[position] == name:
                return position
            at += 1
        return -1


class _Ordered:
    # The values in ascending order, without making that array.
    def __init__(self, values: npt.NDArray[Any], rank: Int32s) -> None:
        self._values, self._rank = values, rank

    def __len__(self) -> int:
        return len(self._rank)

    def __getitem__(self, index: int) -> int:
        return int(self._values[self._rank[index]])


def store_ids(given: Any, rows: Int32s, sinks: Sinks, where: str = "") -> IntegerIds | TextIds:
    """Put item ids in position order and index them.

    Args:
        given: ids by row: None for the row numbers, an integer array, or a sequence of int | str
            (integers when the text of every id is a canonical decimal integer, else text).
        rows: int32 [N], row of each position.
        sinks: where the arrays go.
        where: prefix for messages.

    Raises:
        CatalogueError: another number of ids than rows, an id of another type, or a duplicate.
    """
    if given is None:
        rank = np.empty(len(rows), dtype=np.int32)
        rank[rows] = np.arange(len(rows), dtype=np.int32)
        return IntegerIds(sinks.put("item_ids", rows), sinks.put("item_rank", rank))
    if len(given) != len(rows):
        raise CatalogueError(f"{where}{len(given)} item ids for {len(rows)} SIDs; give one a row")
    ids = _normalise(given, where)
    return (
        _store_integers(ids, rows, sinks, where)
        if isinstance(ids, np.ndarray)
        else _store_texts(ids, rows, sinks, where)
    )


def store_texts(texts: Iterable[str], sinks: Sinks, name: str) -> Texts:
    """Store strings under a name."""
    offsets = [0]
    blob = bytearray()
    for text in texts:
        blob += text.encode()
        offsets.append(len(blob))
    return Texts(
        sinks.put(f"{name}.offsets", np.asarray(offsets, dtype=np.int64)),
        sinks.put(name, np.frombuffer(bytes(blob), dtype=np.uint8)),
    )


def _store_integers(ids: npt.NDArray[Any], rows: Int32s, sinks: Sinks, where: str) -> IntegerIds:
    fits = np.iinfo(np.int32)
    narrow = int(ids.min()) >= fits.min and int(ids.max()) <= fits.max
    ids = ids.astype(np.int32 if narrow else np.int64)
    by_row = np.argsort(ids, kind="stable").astype(np.int32)
    for base in range(0, len(ids) - 1, BLOCK):
        ordered = ids[by_row[base : base + BLOCK + 1]]
        same = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(same):
            first, second = by_row[base + same[0]], by_row[base + same[0] + 1]
            raise _duplicate(int(ids[first]), int(first), int(second), where)
    position_of = np.empty(len(rows), dtype=np.int32)
    position_of[rows] = np.arange(len(rows), dtype=np.int32)
    return IntegerIds(sinks.put("item_ids", ids[rows]), sinks.put("item_rank", position_of[by_row]))


def _store_texts(ids: list[str], rows: Int32s, sinks: Sinks, where: str) -> TextIds:
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if seen.setdefault(name, row) != row:
            raise _duplicate(name, seen[name], row, where)
    del seen
    names = [ids[row] for row in rows]
    hashes = np.asarray([_hash(name) for name in names], dtype=np.uint64)
    rank = np.argsort(hashes, kind="stable").astype(np.int32)
    return TextIds(
        store_texts(names, sinks, "item_texts"),
        sinks.put("item_hashes", hashes[rank]),
        sinks.put("item_rank", rank),
    )


def _normalise(given: Any, where: str) -> npt.NDArray[Any] | list[str]:
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        if given.ndim != 1:
            raise CatalogueError(f"{where}item ids have shape {given.shape}; [N] is expected")
        if int(given.max(initial=0)) > _INT64.max:
            row = int(np.argmax(given > _INT64.max))
            raise CatalogueError(
                f"{where}row {row}: item id {given[row]} is out of the int64 range"
            )
        return given
    ids: list[str] = []
    for row, item in enumerate(given):
        try:
            text = _text(item)
        except InputError as error:
            raise CatalogueError(f"{where}row {row}: {error}") from None
        if not text:
            raise CatalogueError(f"{where}row {row}: the item id is empty")
        if not is_unicode(text):
            raise CatalogueError(f"{where}row {row}: item id {shown(text)} is not Unicode text")
        ids.append(text)
    if all(_is_integer(name) for name in ids):
        return np.asarray([int(name) for name in ids], dtype=np.int64)
    return ids


def _as_int64(ids: Ids) -> tuple[Int64s, Bools]:
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return ids.astype(np.int64), ids <= _INT64.max
    if all(type(item) is int for item in ids):
        try:
            return np.asarray(ids, dtype=np.int64), np.ones(len(ids), dtype=np.bool_)
        except OverflowError:
            pass  # the slow way tells which ids cannot be
    wanted = np.zeros(len(ids), dtype=np.int64)
    known = np.zeros(len(ids), dtype=np.bool_)
    for index, item in enumerate(ids):
        text = _text(item)
        if _is_integer(text):
            wanted[index], known[index] = int(text), True
    return wanted, known


def _text(item: Any) -> str:
    if isinstance(item, str):
        return str(item)
    if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.timedelta64)):
        try:
            return str(int(item))
        except ValueError:  # Python refuses to write out integers of thousands of digits
            raise InputError(f"item id is {shown(item)}; no item has such an id") from None
    raise InputError(f"item id {shown(item)} is a {type(item).__name__}; give an int or a string")


def _is_integer(text: str) -> bool:
    return bool(_CANONICAL.fullmatch(text)) and _INT64.min <= int(text) <= _INT64.max


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


@contextmanager
def _whole() -> Iterator[None]:
    # A saved index is mapped, not read: where it points outside is seen when it is followed.
    try:
        yield
    except IndexError:
        raise _damaged("the index of item ids points outside of the items") from None


def _damaged(reason: str) -> CatalogueError:
    return CatalogueError(
        f"the saved catalogue is damaged: {reason}; `xgr catalog inspect DIR --verify` names the "
        "file; copy or build it again"
    )


def _duplicate(item: ItemId, first: int, second: int, where: str) -> CatalogueError:
    return CatalogueError(
        f"{where}row {max(first, second)}: item id {item!r} was given before, in row "
        f"{min(first, second)}; an item has one SID"
    )

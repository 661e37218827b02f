"""What is asked of the engine, checked on the host before anything is launched."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeGuard

from xgr.catalog import Catalogue, ItemId, RequestFilter
from xgr.errors import InputError

Width = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Request:
    """One user's prompt and what is wanted of it.

    Attributes:
        token_ids: the prompt, begin tokens included.
        beam_width: beams kept at every level, or one number a level; may grow and shrink.
        k: items wanted; fewer come back when fewer are legal.
        per_sid: at most this many items of one SID; None for all.
        exclude: item ids that may not come out.
        allow: the only item ids that may come out; None for all.
        filters: names of filters registered with the catalogue; all must pass.
        unknown: what an exclude or allow id that the catalogue lacks is, "error" or "skip".
    """

    token_ids: Sequence[int]
    beam_width: Width = 128
    k: int = 10
    per_sid: int | None = None
    exclude: Sequence[ItemId] = ()
    allow: Sequence[ItemId] | None = None
    filters: Sequence[str] = ()
    unknown: Literal["error", "skip"] = "error"

    def resolve(self, catalogue: Catalogue) -> RequestFilter | None:
        """The filter in terms of a catalogue's nodes; None when everything may come out."""
        if not self.exclude and self.allow is None and not self.filters:
            return None
        return catalogue.filter(
            exclude=self.exclude, allow=self.allow, named=self.filters, unknown=self.unknown
        )

    def widths(self, depth: int) -> tuple[int, ...]:
        """Beam width of each of `depth` levels.

        Raises:
            InputError: a width below 1, or a list of another length than the catalogue's depth.
        """
        width = self.beam_width
        given: tuple[object, ...]
        if isinstance(width, Iterator | Set | Mapping):
            raise InputError(f"beam_width is {width!r}, need one number or a list with one a level")
        given = tuple(width) if isinstance(width, Iterable) else (width,) * depth
        if len(given) != depth:
            raise InputError(
                f"beam_width has {len(given)} numbers, need one number or one for each of the "
                f"catalogue's {depth} levels"
            )
        counts = tuple(int(w) for w in given if is_count(w))
        if len(counts) != depth:
            raise InputError(f"beam_width is {width!r}, need whole numbers of at least 1")
        return counts

    def check_options(self, depth: int) -> None:
        """Refuse what no user could be served with.

        Raises:
            InputError: with the value and what is allowed.
        """
        self.widths(depth)
        if not is_count(self.k):
            raise InputError(f"k is {self.k!r}, need a whole number of at least 1")
        if self.per_sid is not None and not is_count(self.per_sid):
            raise InputError(
                f"per_sid is {self.per_sid!r}, need a whole number of at least 1, or None (no cap)"
            )
        names = self.filters
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InputError(f"filters is {names!r}, need a list of names of registered filters")
        strange = [name for name in names if not isinstance(name, str)]
        if strange:
            raise InputError(f"filters has {strange[0]!r}, need names of registered filters")

    def check(self, depth: int, vocab_size: int) -> None:
        """Refuse what no engine could serve.

        Raises:
            InputError: with the value and what is allowed.
        """
        self.check_options(depth)
        if not self.token_ids:
            raise InputError("the prompt is empty: give at least one history item or token")
        strange = [
            kind
            for kind in set(map(type, self.token_ids))
            if not issubclass(kind, Integral) or issubclass(kind, bool)
        ]
        if strange:
            raise InputError(f"the prompt has a {strange[0].__name__}, token ids are whole numbers")
        low, high = min(self.token_ids), max(self.token_ids)
        if low < 0 or high >= vocab_size:
            raise InputError(
                f"the prompt has token id {low if low < 0 else high}, "
                f"the model's are 0..{vocab_size - 1}"
            )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was found servable.

    Attributes:
        request: what was asked.
        chosen: its filter in the nodes of one catalogue.
        tokens: the prompt as C ints: prompts are joined and copied without a step a token.
    """

    request: Request
    chosen: RequestFilter | None
    tokens: array[int]


def is_count(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of at least 1, of Python or NumPy, and no truth value."""
    return is_whole(value) and value >= 1


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, of Python or NumPy, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)

"""How the demo shop's customers buy: they follow lines in order, come back to them, and stray.

A customer never buys two items of one SID. What a customer does next depends on the history alone
(the open lines and how far each has got), so a model can learn it; the strays cannot be foreseen.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

FOLLOW = 0.42  # the next stage of the line bought from last
RESUME = 0.16  # the next stage of another line begun before
BRANCH = 0.18  # a kindred line, from its beginning; the rest are strays: anything, by popularity
SKIP = 0.15  # chance that a stage is jumped over
FIRST_VARIANT = 0.7  # share of the first item among the items of a shared SID
SHORTEST, LONGEST = 8, 40  # items in a history


@dataclass(frozen=True)
class Item:
    """One item; `line` counts over all shelves, `stage` is its place within the line."""

    item_id: str
    sid: tuple[str, str, str]
    title: str
    line: int
    stage: int


class Catalogue:
    """The items by line and stage; `lines[line][stage]` are the ids that share that SID."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.lines: list[list[list[str]]] = []
        for item in items:
            if item.line == len(self.lines):
                self.lines.append([])
            if item.stage == len(self.lines[item.line]):
                self.lines[item.line].append([])
            self.lines[item.line][item.stage].append(item.item_id)


class Behaviour:
    """What all customers have in common: how popular a line is, and which lines are kindred."""

    def __init__(self, catalogue: Catalogue, rng: random.Random, lines_per_shelf: int = 6) -> None:
        self.catalogue = catalogue
        count = len(catalogue.lines)
        ranks = sorted(range(count), key=lambda _: rng.random())
        self._cumulative = list(accumulate(1.0 / (rank + 6) for rank in ranks))
        self._kindred = [
            (
                line - line % lines_per_shelf + (line + 1) % lines_per_shelf,  # the same shelf
                (line + lines_per_shelf) % count,  # the shelf beside it
                (line + 2 * lines_per_shelf + 1) % count,
            )
            for line in range(count)
        ]

    def any_line(self, rng: random.Random) -> int:
        """A line by popularity."""
        return bisect(self._cumulative, rng.random() * self._cumulative[-1])

    def kindred(self, line: int, rng: random.Random) -> int:
        """One of the three lines that customers of `line` turn to."""
        return _pick(self._kindred[line], rng)


@dataclass
class _Customer:
    behaviour: Behaviour
    rng: random.Random
    reached: dict[int, int] = field(default_factory=dict)  # open line -> next stage
    owned: set[tuple[int, int]] = field(default_factory=set)
    history: list[str] = field(default_factory=list)
    current: int = -1

    def step(self) -> None:
        """Buy one item, or nothing when the line that was thought of is exhausted."""
        draw = self.rng.random()
        if self.current < 0:
            self._advance(self.behaviour.any_line(self.rng))
        elif draw < FOLLOW:
            self._advance(self.current)
        elif draw < FOLLOW + RESUME:
            others = [line for line in self.reached if line != self.current]
            if others:
                self._advance(_pick(others, self.rng))
        elif draw < FOLLOW + RESUME + BRANCH:
            self._advance(self.behaviour.kindred(self.current, self.rng))
        else:
            line = self.behaviour.any_line(self.rng)
            stage = int(self.rng.random() * len(self.behaviour.catalogue.lines[line]))
            self._buy(line, stage)

    def _advance(self, line: int) -> None:
        stage = self.reached.get(line, 0) + (self.rng.random() < SKIP)
        while (line, stage) in self.owned:  # strayed there before
            stage += 1
        if stage < len(self.behaviour.catalogue.lines[line]):
            self._buy(line, stage)
            self.reached[line] = stage + 1
            self.current = line

    def _buy(self, line: int, stage: int) -> None:
        if (line, stage) in self.owned:
            return
        first, *others = self.behaviour.catalogue.lines[line][stage]
        keep = not others or self.rng.random() < FIRST_VARIANT
        self.owned.add((line, stage))
        self.history.append(first if keep else _pick(others, self.rng))


def draw_histories(
    behaviour: Behaviour,
    rng: random.Random,
    count: int,
    unlike: Set[tuple[str, ...]] = frozenset(),
) -> tuple[tuple[str, ...], ...]:
    """Draw `count` histories, none of which is in `unlike`."""
    histories: list[tuple[str, ...]] = []
    while len(histories) < count:
        history = _draw_history(behaviour, rng)
        if history not in unlike:
            histories.append(history)
    return tuple(histories)


def _draw_history(behaviour: Behaviour, rng: random.Random) -> tuple[str, ...]:
    customer = _Customer(behaviour, rng)
    draw = rng.random()
    length = SHORTEST + int(draw * draw * (LONGEST - SHORTEST + 1))  # most are short
    while len(customer.history) < length:
        customer.step()
    return tuple(customer.history)


def _pick(choices: Sequence[T], rng: random.Random) -> T:
    return choices[int(rng.random() * len(choices))]

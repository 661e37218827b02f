"""From what a caller has (item ids, SIDs, token ids, text) to the token ids of a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeGuard

from xgr.catalog import Catalogue, ItemId
from xgr.errors import InputError
from xgr.models.tokens import PromptTemplate, Tokenizer

HistoryItem = ItemId | Sequence[str]


@dataclass(frozen=True, slots=True)
class Speller:
    """Spells prompts in a model's tokens.

    Attributes:
        tokenizer: the model's.
        template: the form of its prompts.
        labels: per level, the token that spells each code.
    """

    tokenizer: Tokenizer
    template: PromptTemplate
    labels: tuple[Sequence[str], ...]

    def history(
        self,
        items: Sequence[HistoryItem],
        catalogue: Catalogue,
        unknown: Literal["error", "skip"] = "error",
    ) -> list[int]:
        """Prompt of a history.

        Args:
            items: in time order; item ids, SID strings ("<a_1><b_2>") or sequences of code tokens.
            catalogue: where the ids are looked up, with this speller's codes.
            unknown: what an item that the catalogue lacks is: "error", or "skip" to leave it out.

        Raises:
            InputError: an unknown item, or nothing left to recommend from.
        """
        if isinstance(items, str) or not isinstance(items, Iterable):
            raise InputError(f"a history is a list of items, got {items!r}")
        given = list(items)
        leaves = _leaves(given, catalogue)
        if unknown == "error" and -1 in leaves:
            raise InputError(
                f"history item {given[leaves.index(-1)]!r} is not in the catalogue; "
                'unknown="skip" (on the command line --unknown skip) leaves unknown items out'
            )
        known = [leaf for leaf in leaves if leaf >= 0]
        if given and not known:
            raise InputError(
                f"none of the {len(given)} history items is in the catalogue: "
                "give at least one known item"
            )
        codes = catalogue.codes(known).tolist() if known else []
        spelled = [
            [labels[code] for labels, code in zip(self.labels, row, strict=True)] for row in codes
        ]
        return self.template.encode(spelled, self.tokenizer)

    def text(self, prompt: str) -> list[int]:
        """Prompt that the caller wrote."""
        return self.template.encode_text(prompt, self.tokenizer)

    def items(self, history: Sequence[HistoryItem], catalogue: Catalogue) -> list[ItemId]:
        """Item ids of a history; a SID stands for all of its items, unknown ones are left out."""
        ids: list[ItemId] = []
        for item, leaf in zip(history, _leaves(history, catalogue), strict=True):
            if leaf >= 0 and is_item_id(item):
                ids.append(item)
            elif leaf >= 0:
                ids += [catalogue.item_id(p) for p in catalogue.item_positions(leaf)]
        return ids


def is_item_id(item: HistoryItem) -> TypeGuard[ItemId]:
    """Whether a history item is an item id, not a SID."""
    if isinstance(item, bool):
        return False
    return isinstance(item, Integral) or (isinstance(item, str) and not item.startswith("<"))


def _leaves(items: Sequence[HistoryItem], catalogue: Catalogue) -> list[int]:
    """SID of each item, -1 where the catalogue has none.

    Raises:
        InputError: something that is neither an item id nor a SID.
    """
    found = iter(catalogue.leaves([item for item in items if is_item_id(item)]))
    leaves = []
    for item in items:
        if is_item_id(item):
            leaves.append(next(found))
        elif isinstance(item, Sequence) and not isinstance(item, bytes):
            leaves.append(catalogue.find_sid(item))
        else:
            raise InputError(f"history item {item!r} is neither an item id nor a SID")
    return leaves

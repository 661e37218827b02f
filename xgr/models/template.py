"""A prompt template: how a history of items becomes the token ids a checkpoint was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from xgr.errors import InputError
from xgr.models import codes
from xgr.models.codes import PLACE
from xgr.models.tokenizer import Tokenizer

History = Sequence[Sequence[str]]


class PromptTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A prompt: <bos> instruction | prefix item separator item ... suffix begin_tokens.

    Attributes:
        name: for messages.
        bos: put the tokenizer's bos token first, where it has one.
        instruction: text before the prefix that is tokenized on its own (MiniOneRec does so).
        prefix: text before the items.
        item_prefix: text before each item.
        item_suffix: text after each item.
        item_separator: text between items.
        suffix: text after the items.
        begin_tokens: tokens between the prompt and the first code.
        end_tokens: tokens that the checkpoint writes after the last code. They are never decoded;
            they count only in scores that ask for them.
        end_eos: the tokenizer's eos token follows the end tokens.
        max_items: items of the history that are kept; None keeps all.
        keep_items: which of them: the "last" (most recent) or the "first".
        code_tokens: pattern of the code tokens of each level, with one `{code}`; may list more
            levels than a catalogue has. Empty when unknown.
    """

    name: str = "custom"
    bos: bool = True
    instruction: str = ""
    prefix: str = ""
    item_prefix: str = ""
    item_suffix: str = ""
    item_separator: str = ""
    suffix: str = ""
    begin_tokens: tuple[str, ...] = ()
    end_tokens: tuple[str, ...] = ()
    end_eos: bool = False
    max_items: Annotated[int, msgspec.Meta(ge=1)] | None = None
    keep_items: Literal["last", "first"] = "last"
    code_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in self.code_tokens:
            if pattern.count(PLACE) != 1 or pattern == PLACE:
                raise InputError(
                    f"code_tokens: {pattern!r} needs text and one {PLACE}, such as '<a_{PLACE}>'"
                )

    def replace(self, **changes: Any) -> PromptTemplate:
        """This template with other values of some fields.

        Raises:
            InputError: unknown field, with the known ones, or a value of the wrong type.
        """
        known = self.__struct_fields__
        unknown = [key for key in changes if key not in known]
        if unknown:
            raise InputError(f"a template has no {unknown[0]!r}; it has: {', '.join(known)}")
        try:
            return msgspec.convert({**msgspec.to_builtins(self), **changes}, PromptTemplate)
        except msgspec.ValidationError as error:
            raise InputError(f"template {self.name}: {error}") from error

    def kept(self, history: History) -> History:
        """The items of a history that enter the prompt, in order.

        Raises:
            InputError: none is left, or one has no codes.
        """
        items = history
        if self.max_items is not None:
            items = (
                items[-self.max_items :] if self.keep_items == "last" else items[: self.max_items]
            )
        if not items:
            raise InputError(
                "history is empty: a prompt needs at least one known item; recommend popular "
                "items to new users, or give a text prompt"
            )
        if any(not item for item in items):
            raise InputError("history has an item without codes; leave the item out")
        return items

    def prompt_text(self, history: History) -> str:
        """The prompt of a history as text, without the bos and the begin tokens.

        Args:
            history: items in time order, each as the tokens that spell its codes.

        Raises:
            InputError: empty history.
        """
        return self.instruction + self._items_text(self.kept(history))

    def encode(self, history: History, tokenizer: Tokenizer) -> list[int]:
        """Token ids of the prompt of a history, bos and begin tokens included.

        Args:
            history: items in time order, each as the tokens that spell its codes.
            tokenizer: the checkpoint's tokenizer.

        Raises:
            InputError: empty history, a code that is not one token, or a template whose text the
                tokenizer does not know.
        """
        items = self.kept(history)
        labels = [label for item in items for label in item]
        for label in labels:
            if label not in tokenizer.vocabulary:
                raise InputError(f"history: {label!r} is not a token of this tokenizer")
        instruction = self._encode_known(self.instruction, tokenizer)
        ids = self._encode_known(self._items_text(items), tokenizer)
        rest = iter(ids)
        for label in labels:
            if tokenizer.vocabulary[label] not in rest:  # consumes up to it: order must hold too
                raise InputError(
                    f"history: {label!r} does not stay one token inside the prompt; "
                    "add it to the tokenizer as an added token"
                )
        return self._start(tokenizer) + instruction + ids + self.begin_token_ids(tokenizer)

    def encode_text(self, text: str, tokenizer: Tokenizer) -> list[int]:
        """Token ids of a prompt that the caller wrote: bos, the text, the begin tokens.

        Nothing else of the template is added, and the history's limit does not apply.

        Raises:
            InputError: empty text, or text that the tokenizer does not know.
        """
        ids = self._encode_known(text, tokenizer)
        if not ids:
            raise InputError("the text prompt is empty; give the text that the checkpoint expects")
        return self._start(tokenizer) + ids + self.begin_token_ids(tokenizer)

    def begin_token_ids(self, tokenizer: Tokenizer) -> list[int]:
        """Token ids of `begin_tokens`.

        Raises:
            InputError: one that the tokenizer does not have.
        """
        return _ids_of("begin_tokens", self.begin_tokens, tokenizer)

    def end_token_ids(self, tokenizer: Tokenizer) -> list[int]:
        """Token ids that follow the last code: `end_tokens`, then eos where `end_eos` asks for it.

        Raises:
            InputError: one that the tokenizer does not have.
        """
        ids = _ids_of("end_tokens", self.end_tokens, tokenizer)
        if not self.end_eos:
            return ids
        if tokenizer.eos_id is None:
            raise InputError(
                f"template {self.name} ends with eos, which the tokenizer does not have"
            )
        return [*ids, tokenizer.eos_id]

    def level_labels(self, tokenizer: Tokenizer, depth: int) -> tuple[tuple[str, ...], ...] | None:
        """All code tokens of the first `depth` levels, in the natural order of their codes.

        None when the template does not know its code tokens: `infer_patterns` finds them from
        the labels of an item, and `codes.level_labels` takes what it finds.

        Raises:
            InputError: more levels asked than the template has, or a level without tokens.
        """
        if not self.code_tokens:
            return None
        if depth > len(self.code_tokens):
            raise InputError(
                f"template {self.name} has code tokens for {len(self.code_tokens)} levels, "
                f"{depth} asked; list them all in code_tokens"
            )
        return codes.level_labels(tokenizer, self.code_tokens[:depth])

    def _start(self, tokenizer: Tokenizer) -> list[int]:
        return [tokenizer.bos_id] if self.bos and tokenizer.bos_id is not None else []

    def _items_text(self, items: History) -> str:
        spelled = (self.item_prefix + "".join(item) + self.item_suffix for item in items)
        return self.prefix + self.item_separator.join(spelled) + self.suffix

    def _encode_known(self, text: str, tokenizer: Tokenizer) -> list[int]:
        """Token ids of a text; the unknown token would hide that it is not this model's text."""
        ids = tokenizer.encode(text)
        if tokenizer.unk_id is not None and tokenizer.unk_id in ids:
            raise InputError(
                f"template {self.name}: the tokenizer has no token for "
                f"{tokenizer.unknown_text(text)!r} in the prompt; use the template that the "
                "checkpoint was trained with"
            )
        return ids


def _ids_of(field: str, tokens: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """Tokens by name; text that is none by name, such as a line break, as it is tokenized."""
    ids: list[int] = []
    for token in tokens:
        known = tokenizer.vocabulary.get(token)
        encoded = tokenizer.encode(token) if known is None else [known]
        if not encoded or tokenizer.unk_id in encoded:
            raise InputError(f"{field}: {token!r} is not a token of this tokenizer")
        ids += encoded
    return ids

"""The tokenizer of a checkpoint (tokenizer.json), with what beam search needs to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import tokenizers

from xgr.errors import InputError, ModelError
from xgr.models.folder import read_json

_SLOW: Final = ("tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")


class Tokenizer:
    """Text to token ids. Nothing is added, cut or padded: templates say what a prompt holds.

    Attributes:
        bos_id: id of the begin-of-sequence token; None where the checkpoint has none.
        eos_id: id of the end-of-sequence token; None where the checkpoint has none.
        unk_id: id that stands for unknown text; None where every text has tokens.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        bos_id: int | None = None,
        eos_id: int | None = None,
    ) -> None:
        """Wrap a tokenizer; its truncation and padding are switched off.

        Args:
            backend: the tokenizer of the `tokenizers` library.
            bos_id: begin-of-sequence id, if the checkpoint has one.
            eos_id: end-of-sequence id, if the checkpoint has one.
        """
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        self.bos_id = bos_id
        self.eos_id = eos_id
        unknown = getattr(backend.model, "unk_token", None)
        self.unk_id = None if unknown is None else backend.token_to_id(unknown)

    @classmethod
    def load(cls, model_dir: str | Path) -> Tokenizer:
        """Read `tokenizer.json` and the special tokens of a model folder.

        `tokenizer_config.json` decides whether there is a bos and an eos token, because a
        config.json may state an id that its tokenizer never writes (Qwen3 does). Only where that
        file is absent do the ids of config.json count.

        Raises:
            ModelError: no or broken tokenizer.json, or a special token that it lacks.
        """
        folder = Path(model_dir)
        path = folder / "tokenizer.json"
        if not path.exists():
            raise _no_tokenizer(folder)
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{path} is not a tokenizer that can be read: {error}") from error
        stated = folder / "tokenizer_config.json"
        if stated.exists():
            special = read_json(stated)
            bos = _special_id(backend, special, "bos_token", stated)
            eos = _special_id(backend, special, "eos_token", stated)
        else:
            config = read_json(folder / "config.json") if (folder / "config.json").exists() else {}
            bos, eos = _stated_id(config, "bos_token_id"), _stated_id(config, "eos_token_id")
        return cls(backend, bos_id=bos, eos_id=eos)

    @cached_property
    def vocabulary(self) -> Mapping[str, int]:
        """Token ids by token, added tokens included."""
        return self._backend.get_vocab(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens of the tokenizer's own.

        Raises:
            InputError: a lone surrogate, which is no character.
        """
        return self._backend.encode(checked_text(text), add_special_tokens=False).ids

    def encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of every text on its own, as `encode` gives them."""
        checked = [checked_text(text) for text in texts]
        encodings = self._backend.encode_batch(checked, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def unknown_text(self, text: str) -> str | None:
        """The first piece of a text that has no token; None when all has."""
        encoding = self._backend.encode(checked_text(text), add_special_tokens=False)
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token == self.unk_id:
                return text[start:end]
        return None

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of token ids, special tokens included.

        Raises:
            InputError: a number that no tokenizer has.
        """
        for token_id in token_ids:
            self._check_id(token_id)
        return self._backend.decode(list(token_ids), skip_special_tokens=False)

    def tokens(self, token_ids: Sequence[int]) -> list[str]:
        """The token of each id.

        Raises:
            InputError: an id that the tokenizer does not have.
        """
        for token_id in token_ids:
            self._check_id(token_id)
        found = [self._backend.id_to_token(token_id) for token_id in token_ids]
        if None in found:
            raise self._no_id(token_ids[found.index(None)])
        return [token for token in found if token is not None]

    def __len__(self) -> int:
        return self._backend.get_vocab_size(with_added_tokens=True)

    def _check_id(self, token_id: int) -> None:
        if not 0 <= token_id < 1 << 32:  # the library's ids are of 32 bits
            raise self._no_id(token_id)

    def _no_id(self, token_id: int) -> InputError:
        return InputError(f"token id {token_id} is not in the tokenizer ({len(self)} tokens)")


def checked_text(text: str) -> str:
    """The text, which a tokenizer can read.

    Raises:
        InputError: a lone surrogate, with its place.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"the text has {text[error.start]!r} at {error.start}, half of a surrogate pair and no "
            "character: give text that was decoded from valid UTF-8"
        ) from error
    return text


def _special_id(
    backend: tokenizers.Tokenizer, special: Mapping[str, Any], key: str, path: Path
) -> int | None:
    token = special.get(key)
    if isinstance(token, dict):  # the older form keeps the token's flags beside it
        token = token.get("content")
    if token is None:
        return None
    try:
        token_id = backend.token_to_id(checked_text(token)) if isinstance(token, str) else None
    except InputError as error:
        raise ModelError(f"{path}: {key}: {error}") from error
    if token_id is None:
        raise ModelError(f"{path}: {key} is {token!r}, which tokenizer.json does not have")
    return token_id


def _stated_id(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key)
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, int) else None


def _no_tokenizer(folder: Path) -> ModelError:
    slow = [name for name in _SLOW if (folder / name).exists()]
    if not slow:
        return ModelError(f"{folder} has no tokenizer.json; copy it there from the checkpoint")
    return ModelError(
        f"{folder} has {', '.join(slow)} but no tokenizer.json; write one where transformers is "
        'installed: python -c "from transformers import AutoTokenizer as T; '
        f"T.from_pretrained(r'{folder}').save_pretrained(r'{folder}')\""
    )

"""Tiny tokenizers of the two kinds that checkpoints use: whole words, and byte-level BPE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

WORDS = ("<pad>", "<bos>", "<eos>")
BREAKS = "ĊĊ"


def words(*labels: str) -> Tokenizer:
    """One token a label and nothing else: other text becomes <pad>."""
    vocab = {token: i for i, token in enumerate((*WORDS, *labels))}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("<[^<>]+>"), "isolated")
    return tokenizer


def byte_bpe(added: Sequence[str], special: Sequence[str] = ()) -> Tokenizer:
    """Every byte a token and one merge, of two line breaks; codes are added tokens.

    Line breaks before other text are never merged, those at the end of a text are: it shows
    where a prompt is tokenized in parts. Ids: 256 bytes, the merge, special, added.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {char: i for i, char in enumerate((*alphabet, BREAKS))}
    tokenizer = Tokenizer(models.BPE(vocab, [("Ċ", "Ċ")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    tokenizer.add_tokens(list(added))
    return tokenizer


def folder(path: Path, tokenizer: Tokenizer, **special: Any) -> Path:
    """A model folder with this tokenizer and these entries of tokenizer_config.json."""
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(special))
    return path

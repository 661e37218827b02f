"""Codes of a level: how the columns of its logits map to tokens and to the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xgr.catalog import Catalogue
from xgr.errors import InputError
from xgr.models.tokens import (
    PromptTemplate,
    Tokenizer,
    infer_patterns,
    level_labels,
    token_ids,
)


def on_model_codes(
    catalogue: Catalogue, template: PromptTemplate, tokenizer: Tokenizer
) -> tuple[Catalogue, tuple[tuple[int, ...], ...]]:
    """The catalogue with codes numbered as the model's tokens, and their token ids per level.

    The codes of a level are all tokens of the tokenizer that match the level's pattern, whether
    the catalogue uses them or not, so that a score does not depend on the catalogue. The pattern
    is the template's, or follows from the catalogue's labels; without one the catalogue's own
    labels are the codes.
    """
    if catalogue.label_kind == "token_id":
        return catalogue, tuple(tuple(int(t) for t in level) for level in catalogue.labels)
    labels: Sequence[Sequence[Any]] | None = template.level_labels(tokenizer, catalogue.depth)
    if labels is None:
        patterns = infer_patterns([str(level[0]) for level in catalogue.labels])
        if patterns is None and catalogue.label_kind == "code":
            raise InputError(
                "the catalogue has bare codes and the template does not say how they are spelled: "
                'name code_tokens in xgr.json, {"prompt": {"code_tokens": ["<a_{code}>", ...]}}'
            )
        labels = level_labels(tokenizer, patterns) if patterns else catalogue.labels
    ids = tuple(token_ids(tokenizer, level, at) for at, level in enumerate(labels))
    return catalogue.rebase(labels), ids

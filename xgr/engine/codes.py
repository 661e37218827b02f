"""Codes of a level: how the columns of its logits map to tokens and to the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from xgr.catalog import Catalogue
from xgr.errors import InputError
from xgr.models.tokens import (
    PromptTemplate,
    Tokenizer,
    infer_patterns,
    level_labels,
    token_ids,
)

TokenIds = tuple[tuple[int, ...], ...]


def on_model_codes(
    catalogue: Catalogue, template: PromptTemplate, tokenizer: Tokenizer
) -> tuple[Catalogue, TokenIds]:
    """The catalogue with codes numbered as the model's tokens, and their token ids per level.

    The codes of a level are all tokens of the tokenizer that match the level's pattern, whether
    the catalogue uses them or not, so that a score does not depend on the catalogue. The pattern
    is the template's, or follows from the spelling of the catalogue's own codes; where there is
    none, the codes that the catalogue uses are all there are.

    Raises:
        CatalogueError: the catalogue uses a code that the model has no token for.
        InputError: bare codes whose spelling nobody states.
    """
    spelled = _spelled(catalogue, tokenizer)
    labels: Sequence[Sequence[str]] | None = template.level_labels(tokenizer, catalogue.depth)
    if labels is None and spelled is None:
        raise InputError(
            "the catalogue has bare codes and the template does not say how they are spelled: "
            'name code_tokens in xgr.json, {"prompt": {"code_tokens": ["<a_{code}>", ...]}}'
        )
    if labels is None and spelled is not None:
        patterns = infer_patterns([level[0] for level in spelled])
        labels = level_labels(tokenizer, patterns) if patterns else spelled
    ids = tuple(token_ids(tokenizer, level, at) for at, level in enumerate(labels or ()))
    if catalogue.label_kind == "token_id":
        return catalogue.rebase(ids), ids
    return catalogue.rebase(labels or ()), ids


def _spelled(catalogue: Catalogue, tokenizer: Tokenizer) -> list[list[str]] | None:
    """The catalogue's labels as tokens; None for bare codes."""
    if catalogue.label_kind == "code":
        return None
    if catalogue.label_kind == "token_id":
        return [tokenizer.tokens([int(t) for t in level]) for level in catalogue.labels]
    return [[str(label) for label in level] for level in catalogue.labels]

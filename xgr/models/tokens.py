"""Tokens and prompts of a checkpoint: the public face of this package's text side.

`load_template` finds the template of a model folder; `Tokenizer`, `PromptTemplate` and the map from
codes to tokens are defined beside it and named here.
"""

from __future__ import annotations

from pathlib import Path

from xgr.errors import InputError, ModelError
from xgr.models.codes import infer_patterns, level_labels, token_ids
from xgr.models.folder import read_json
from xgr.models.published import PUBLISHED
from xgr.models.template import PromptTemplate
from xgr.models.tokenizer import Tokenizer, checked_text

__all__ = [
    "PUBLISHED",
    "PromptTemplate",
    "Tokenizer",
    "infer_patterns",
    "level_labels",
    "load_template",
    "named_template",
    "token_ids",
]


def named_template(name: str) -> PromptTemplate:
    """A published template: plain, minionerec, lcrec or openonerec.

    Raises:
        InputError: unknown name, with the known ones.
    """
    if name not in PUBLISHED:
        raise InputError(f"template {name!r} is not known; known: {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


def load_template(model_dir: str | Path, name: str | None = None) -> PromptTemplate:
    """The template of a model folder.

    A name given here wins. Otherwise the object under "prompt" in `xgr.json` holds fields of
    PromptTemplate, and may start from a published one:
    `{"prompt": {"template": "minionerec", "max_items": 20}}`. Without xgr.json it is "plain".

    Raises:
        InputError: unknown name.
        ModelError: an xgr.json with an unknown key or a wrong value.
    """
    path = Path(model_dir) / "xgr.json"
    if name is not None:
        return named_template(name)
    if not path.exists():
        return named_template("plain")
    data = read_json(path)
    unknown = sorted(set(data) - {"prompt"})
    if unknown:
        raise ModelError(f"{path}: unknown key {unknown[0]!r}; known: prompt")
    fields = data.get("prompt", {})
    if not isinstance(fields, dict):
        raise ModelError(f"{path}: prompt is {fields!r}, need an object")
    try:
        base = named_template(str(fields.get("template", "plain")))
        changes = {key: value for key, value in fields.items() if key != "template"}
        for key, value in changes.items():
            _check_text(key, value)
        return base.replace(**{"name": f"{base.name} of {path.name}", **changes})
    except InputError as error:
        raise ModelError(f"{path}: {error}") from error


def _check_text(key: str, value: object) -> None:
    try:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                checked_text(text)
    except InputError as error:
        raise InputError(f"{key}: {error}") from error

"""Typed reading of the JSON files of a model folder; what is wrong is named by file and key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xgr.errors import ModelError


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        ModelError: the file is missing, is no JSON, or is no object; the message names it.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise ModelError(f"{path} must hold a JSON object, not a {type(data).__name__}")
    return data


class Fields:
    """The keys of a JSON object, each read with its type; a wrong one is a ModelError."""

    def __init__(self, data: Mapping[str, Any], source: str) -> None:
        self._data = data
        self.source = source

    def get(self, key: str) -> Any:
        """The raw value; None where the key is absent or null."""
        return self._data.get(key)

    def integer(self, key: str, default: int | None = None, minimum: int | None = 1) -> int:
        """An int of at least `minimum`; required where `default` is None."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(key, value, "an integer")
        if minimum is not None and value < minimum:
            raise self.wrong(key, value, f"an integer of at least {minimum}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A positive, finite float; required where `default` is None."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, value, "a number")
        if not 0 < value < float("inf"):
            raise self.wrong(key, value, "a positive, finite number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """A bool."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def token_ids(self, key: str) -> tuple[int, ...]:
        """An id, a list of ids or null, as a tuple."""
        value = self.get(key)
        listed = [] if value is None else value if isinstance(value, list) else [value]
        if any(isinstance(one, bool) or not isinstance(one, int) for one in listed):
            raise self.wrong(key, value, "a token id or a list of token ids")
        return tuple(listed)

    def wrong(self, key: str, value: object, need: str) -> ModelError:
        """The error for a value that is not what the key needs."""
        return ModelError(f"{self.source}: {key} is {value!r}, need {need}")

    def _value(self, key: str, default: object) -> Any:
        value = self.get(key)
        if value is None:
            value = default
        if value is None:
            raise ModelError(f"{self.source} has no {key!r}, which this architecture needs")
        return value

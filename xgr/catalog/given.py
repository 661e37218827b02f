"""Values from outside: shown in messages without harm, and decoded with one kind of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from xgr.errors import CatalogueError

T = TypeVar("T")

_LONGEST = 80


def shown(value: Any) -> str:
    """A value for a message: printable whatever it holds, and not longer than a line."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return f"{type(value).__name__} with a number of thousands of digits"
    except RecursionError:
        return f"deeply nested {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def is_unicode(text: str) -> bool:
    """Whether a text can be stored: half of a surrogate pair, as JSON may hold, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def load_json(where: str, load: Callable[[], T]) -> T:
    """What a JSON decoder returns.

    Args:
        where: the file, or the file and the line, for the message.
        load: reads and decodes.

    Raises:
        CatalogueError: not readable, not JSON, too deeply nested, or what `load` refuses itself.
    """
    try:
        return load()
    except CatalogueError as error:
        raise CatalogueError(f"{where}: {error}") from None
    except msgspec.ValidationError as error:
        raise CatalogueError(f"{where}: {error}") from None
    except RecursionError:
        raise CatalogueError(f"{where}: not readable as JSON: too deeply nested") from None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise CatalogueError(f"{where}: not readable as JSON: {error}") from None

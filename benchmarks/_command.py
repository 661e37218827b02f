"""The command line of a benchmark: what it will need at its end is checked before its minutes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from xgr.bench import plot, record
from xgr.errors import InputError, XgrError


def run_main(main: Callable[[], None]) -> None:
    """Run a benchmark; an error of xgr is one message and exit code 2."""
    try:
        main()
    except XgrError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def writable(text: str) -> Path:
    """Type of an option: a file that can be written; makes its folders.

    Raises:
        ArgumentTypeError: it cannot, with the reason.
    """
    return _checked(record.check_writable, text)


def drawable(text: str) -> Path:
    """Type of an option: a file that a plot can be drawn into; makes its folders.

    Raises:
        ArgumentTypeError: it cannot, with the reason.
    """
    return _checked(plot.check, text)


def positive(text: str) -> int:
    """Type of an option: a whole number of at least 1.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _checked(check: Callable[[Path], None], text: str) -> Path:
    path = Path(text)
    try:
        check(path)
    except InputError as error:
        # argparse shows the text of this type alone
        raise argparse.ArgumentTypeError(str(error)) from error
    return path

"""Which functions of AscendC the emulator has, and which the kernels call."""

from __future__ import annotations

import re
from pathlib import Path

from tests.ascend.emulator.built import CSRC, HERE

# a function or method with its type before it, or one that a macro defines
_DEFINED = re.compile(
    r"^ *(?:template <[^;{]*?> )?(?:inline |static )*"
    r"(?!return|throw|const )[\w:]+(?:<[\w, ]+>)?[ &*]+([A-Z]\w+)\(",
    re.M,
)
_MACRO = re.compile(r"^XGR_EMULATED_\w+\((\w+),", re.M)
_CALLED = re.compile(r"\b([A-Z]\w+)\s*(?:<[^;(){}=]*>)?\(")
# names in capitals that are no functions of the API
_OTHERS = {"NAME", "Copy", "Fault"}


def emulated() -> set[str]:
    """Functions and methods of namespace AscendC in the emulator's headers."""
    found: set[str] = set()
    for header in sorted((CSRC / "emulator" / "ascendc").glob("*.h")):
        text = header.read_text()
        if "namespace AscendC" not in text:
            continue
        found |= set(_MACRO.findall(text)) | set(_DEFINED.findall(text))
    return {name for name in found if not name.isupper()} - _OTHERS


def called(path: Path) -> set[str]:
    """Names that a source calls."""
    return set(_CALLED.findall(path.read_text()))


def used() -> set[str]:
    """Emulated functions that the kernels call."""
    kernels = [called(path) for path in (CSRC / "kernels").iterdir()]
    return emulated() & set[str]().union(*kernels)


def tried() -> set[str]:
    """Emulated functions that only the hazards' kernels call."""
    return (emulated() & set[str]().union(*map(called, (HERE / "hazards_of").iterdir()))) - used()

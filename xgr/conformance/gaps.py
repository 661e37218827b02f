"""What a backend cannot do, listed in its gaps.toml with the reason; strict both ways."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from xgr.errors import InputError
from xgr.ops.spec import Case


@dataclass(frozen=True, slots=True)
class Gap:
    """Cases that a backend does not support.

    Attributes:
        op: the op.
        reason: why, in one sentence.
        kernel: one kernel's name; empty for all of the backend.
        case: regular expression, searched in the case's id; empty for all cases.
        arch: one architecture of the device, as kernel records name it; empty for all.
    """

    op: str
    reason: str
    kernel: str = ""
    case: str = ""
    arch: str = ""

    def covers(self, case: Case, kernel: str, arch: str = "") -> bool:
        """Whether the gap lists a case of a kernel, on a device of an architecture."""
        return (
            self.op == case.op
            and self.arch in ("", arch)
            and self.kernel in ("", kernel)
            and re.search(self.case, case.id) is not None
        )


def read_gaps(backend: type[Any]) -> Sequence[Gap]:
    """The gaps of a backend class, from gaps.toml beside its module.

    Raises:
        InputError: an entry has unknown keys, or lacks the op or the reason.
    """
    package = backend.__module__.rpartition(".")[0]
    path = files(package).joinpath("gaps.toml")
    if not path.is_file():
        return ()
    return parse_gaps(path.read_text(encoding="utf-8"), f"{package}/gaps.toml")


def parse_gaps(text: str, origin: str) -> Sequence[Gap]:
    """Gaps of a TOML text with entries [[gap]]; `origin` names it in errors."""
    found = []
    for number, entry in enumerate(tomllib.loads(text).get("gap", [])):
        unknown = sorted(set(entry) - {"op", "reason", "kernel", "case", "arch"})
        missing = [key for key in ("op", "reason") if not entry.get(key)]
        if unknown or missing:
            raise InputError(
                f"{origin}: entry {number} has unknown keys {unknown} and lacks {missing}; "
                "keys are op, reason, kernel, case, arch"
            )
        found.append(Gap(**entry))
    return found

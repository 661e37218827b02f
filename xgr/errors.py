"""Errors of xgr. Each names what was given, what is allowed and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class XgrError(Exception):
    """Base class of every error that xgr raises on purpose."""


class InputError(XgrError, ValueError):
    """A request, history, file or argument that xgr does not accept."""


class CatalogueError(InputError):
    """A catalogue file or array that is refused, with the row and the reason."""


class ModelError(XgrError, ValueError):
    """A checkpoint that xgr cannot run, with the missing, unused or unknown part named."""


class BackendMissing(XgrError, RuntimeError):
    """The asked device has no usable backend on this machine."""


class RequestFailed(XgrError, RuntimeError):
    """A request that failed on the device (a NaN logit, say) while its batch went on."""


class OutOfMemory(XgrError, MemoryError):
    """A device has no room for an array."""


class ValueReadError(XgrError, RuntimeError):
    """A value of an array was read on a backend that has shapes only."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a kernel cannot run a problem.

    Attributes:
        code: short stable word, for tests and machines.
        got: what the problem has.
        need: what the kernel accepts.
        hint: what to do about it; may be empty.
    """

    code: str
    got: str
    need: str
    hint: str = ""

    def __str__(self) -> str:
        """One sentence: got, need and hint."""
        text = f"{self.code}: got {self.got}, need {self.need}"
        return f"{text} ({self.hint})" if self.hint else text


class Unsupported(XgrError, RuntimeError):
    """No kernel, or not the forced kernel, can run a problem; `reasons` says why for each."""

    def __init__(self, message: str, reasons: Sequence[tuple[str, Reason]] = ()) -> None:
        self.reasons = tuple(reasons)
        lines = [message, *(f"  {kernel}: {reason}" for kernel, reason in self.reasons)]
        super().__init__("\n".join(lines))

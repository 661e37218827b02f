"""What the fake CANN was asked to do, and the order in which it runs it."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.ascend.fake_cann.build import MAIN


@dataclass(frozen=True)
class Launch:
    """A call as the host made it.

    Attributes:
        name: of the aclnn call, or `fake_acl_launch` for a kernel of our own.
        stream: number of its stream; 0 is the default one.
        cores: cube and vector cores that it may use.
        graph: number of the graph that records it, 0 outside a capture.
        update: it replaces a call of a captured task group.
        args: by name; a tensor is its dtype, shape and strides.
    """

    name: str
    stream: int
    cores: tuple[int, int]
    graph: int
    update: bool
    args: dict[str, Any]


@dataclass
class Calls:
    """Filled when the block of `logged` is left.

    Attributes:
        launches: in the order in which the host made them.
        ran: names in the order in which the device ran them, replayed ones included.
        failures: messages of refused calls.
    """

    launches: list[Launch] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def named(self, name: str) -> list[Launch]:
        """The launches of one call."""
        return [launch for launch in self.launches if launch.name == name]


def _library() -> ctypes.CDLL:
    # by name alone: the copy that torch_npu is linked to
    return ctypes.CDLL(MAIN)


@contextmanager
def logged() -> Iterator[Calls]:
    """Record the calls of a block; what is queued at its end is not waited for."""
    library = _library()
    library.fake_cann_log_text.restype = ctypes.c_char_p
    library.fake_cann_log(1)
    calls = Calls()
    try:
        yield calls
    finally:
        library.fake_cann_log(0)
        for line in library.fake_cann_log_text().decode().splitlines():
            entry = json.loads(line)
            match entry.pop("what"):
                case "launch":
                    entry["cores"] = tuple(entry["cores"])
                    calls.launches.append(Launch(**entry))
                case "run":
                    calls.ran.append(entry["name"])
                case _:
                    calls.failures.append(entry["name"])


@contextmanager
def order(seed: int) -> Iterator[None]:
    """Run streams in a random legal order; seed 0 is the order of the launches."""
    library = _library()
    library.fake_cann_order(ctypes.c_uint64(seed))
    try:
        yield
    finally:
        library.fake_cann_order(ctypes.c_uint64(0))

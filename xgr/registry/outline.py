"""What a launch runs on the device: calls, the cores that they run on, memory on the chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Launch:
    """One call or kernel of a launch.

    Attributes:
        call: the library's or the kernel's name.
        units: kind of cores that it runs on.
        blocks: how many of them.
        memory: what it keeps on the chip.
        group: the core group that it is confined to; empty for all cores.
        times: how often it is made.
    """

    call: str
    units: str
    blocks: str
    memory: str = ""
    group: str = ""
    times: int = 1

    def __str__(self) -> str:
        times = f"{self.times} x " if self.times > 1 else ""
        where = f" in {self.group}" if self.group else ""
        memory = f"; {self.memory}" if self.memory else ""
        return f"{times}{self.call}: {self.units}, {self.blocks}{where}{memory}"


@dataclass(frozen=True, slots=True)
class Outline:
    """The calls of a launch in order, and small ones between them by how often they are made.

    Attributes:
        launches: the calls that matter.
        small: element-wise calls over rows, heads or lengths, all of `units`.
        units: kind of cores of the small ones.
        groups: how cores are divided between streams, in words; empty where they are not.
    """

    launches: tuple[Launch, ...]
    small: Mapping[str, int]
    units: str
    groups: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """One line a call, and one for the small ones."""
        found = [str(launch) for launch in self.launches]
        if self.small:
            named = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in self.small.items())
            found.append(f"{sum(self.small.values())} small calls on {self.units}: {named}")
        return found + [f"core groups: {text}" for text in self.groups]

    def to_json(self) -> dict[str, Any]:
        """The same content as plain types."""
        return {
            "launches": [asdict(launch) for launch in self.launches],
            "small": dict(self.small),
            "units": self.units,
            "groups": list(self.groups),
        }

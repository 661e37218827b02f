"""The tuned tables of a device: those of a folder, then the shipped ones; why others are not used.

A table of exactly this device comes first, then one of its family, which is used with a warning.
One of another family, schema, op version or of kernels that have changed is refused with the
reason, and the kernels' own rules serve. What was measured goes before what a cost model says.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xgr.errors import InputError
from xgr.ops.spec import OpSpec, Problem
from xgr.registry.kernel import Kernel
from xgr.registry.source import source_hash
from xgr.registry.table import MODELLED, Entry, Table, mismatch, parse

# a folder a device; data of the package xgr.tuner, which nothing here imports
SHIPPED = Path(__file__).resolve().parents[1] / "tuner" / "tables"

_BROKEN = (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError)


@dataclass(slots=True)
class Tables:
    """Tables by op and dtype.

    Attributes:
        device: this machine's device, "nvidia-h200".
        family: what devices share that run the same binaries, "sm_90".
        refused: tables that were found and not used, with the reason.
    """

    device: str = ""
    family: str = ""
    by_key: dict[tuple[str, str], Table] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    _checked: set[tuple[str, str]] = field(default_factory=set)

    def lookup(self, problem: Problem, kernels: Sequence[Kernel] = ()) -> Entry | None:
        """The entry of a problem, None where no table is used.

        Args:
            problem: what is bound.
            kernels: of the op, to which the table is held when it is first used.
        """
        key = (problem.op, problem.dtype)
        table = self.by_key.get(key)
        if table is None:
            return None
        if key not in self._checked:
            changed = _changed(table, kernels)
            if changed:
                del self.by_key[key]
                self.refused.append(f"{table.path}: {changed}")
                return None
            self._checked.add(key)
            if table.warning:
                warnings.warn(f"{table.path}: {table.warning}", stacklevel=2)
        return table.choose(problem)

    def read(self, folder: Path, specs: Mapping[str, OpSpec]) -> None:
        """Add the tables of a folder for the ops of this build.

        Of an op and dtype one of this device stays, else the first by name.

        Raises:
            InputError: there is no such folder.
        """
        if not folder.is_dir():
            raise InputError(f"no folder of tuned tables at {folder}: give an existing folder")
        self._add([(path, _peek(path)) for path in folder.glob("*.json")], specs)

    def read_shipped(self, specs: Mapping[str, OpSpec], folder: Path = SHIPPED) -> None:
        """Add the tables that come with xgr for this device, or else for its family."""
        own: list[Path] = []
        others: list[Path] = []
        for path in sorted(folder.glob("*/*.json")):
            (own if path.parent.name == self.device else others).append(path)
        for paths in (own, others):
            found = [(path, _peek(path)) for path in paths]
            mine = [one for one in found if paths is own or one[1].get("family") == self.family]
            free = [
                one for one in mine if (one[1].get("op"), one[1].get("dtype")) not in self.by_key
            ]
            self._add(free, specs)

    def _add(self, found: list[tuple[Path, dict[str, Any]]], specs: Mapping[str, OpSpec]) -> None:
        for path, raw in sorted(found, key=self._rank):
            try:
                reason = raw.get("_broken", "") or mismatch(raw, specs) or self._foreign(raw)
                if not reason:
                    table = parse(path.name, raw, specs[raw["op"]], self._warning(raw))
                    self.by_key[table.op, table.dtype] = table
            except _BROKEN as error:
                reason = f"cannot be read ({error!r})"
            if reason:
                self.refused.append(f"{path.name}: {reason}")

    def _rank(self, found: tuple[Path, dict[str, Any]]) -> tuple[bool, bool, Path]:
        """What was measured goes before what was modelled, this device before its family."""
        path, raw = found
        return raw.get("basis") == MODELLED, raw.get("device") != self.device, path

    def _foreign(self, raw: Any) -> str:
        if raw["family"] != self.family:
            mine = f"this is {self.device} ({self.family})"
            return f"{_origin(raw)} ({raw['family']}), {mine}"
        first = self.by_key.get((raw["op"], raw["dtype"]))
        return f"{first.path} serves {raw['op']} in {raw['dtype']} already" if first else ""

    def _warning(self, raw: Any) -> str:
        if raw["device"] != self.device:
            used = f"used on {self.device} of the same family"
        elif raw["basis"] == MODELLED:
            used = "its times are of a cost model"
        else:
            return ""
        return f"{_origin(raw)}, {used}; `xgr tune` measures this device"


def _origin(raw: Any) -> str:
    modelled = raw["basis"] == MODELLED
    return f"{MODELLED}, for {raw['device']}" if modelled else f"measured on {raw['device']}"


def _peek(path: Path) -> dict[str, Any]:
    """The JSON of a file; what is wrong with it under "_broken"."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except _BROKEN as error:
        return {"_broken": f"cannot be read ({error!r})"}
    return raw if isinstance(raw, dict) else {"_broken": "cannot be read (it is no JSON object)"}


def _changed(table: Table, kernels: Sequence[Kernel]) -> str:
    """Why the kernels are not those that were measured; empty when they are."""
    for kernel in kernels:
        now, then = source_hash(kernel), table.sources.get(kernel.name)
        if then is not None and now and now != then:
            return f"{kernel.name} has changed since it was measured: {then}, now {now}"
    return ""

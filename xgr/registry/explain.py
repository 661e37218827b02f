"""Why a kernel was chosen, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xgr.registry.outline import Outline
from xgr.registry.select import Choice
from xgr.registry.table import Entry


@dataclass(frozen=True, slots=True)
class Explanation:
    """A choice made readable; `str()` is for people, `to_json()` for machines.

    Attributes:
        choice: what `select` decided.
        parts: the explanations of the ops that the registry composes.
        refused_tables: tuned tables that were found and not used, with the reason.
        has_table: some table covers the op and dtype.
        outline: what a launch runs on the device, where the backend can tell.
    """

    choice: Choice
    parts: Sequence[Explanation] = ()
    refused_tables: Sequence[str] = ()
    has_table: bool = False
    outline: Outline | None = None

    def to_json(self) -> Mapping[str, Any]:
        """The same content as plain types."""
        choice = self.choice
        return {
            "problem": str(choice.problem),
            "chosen": choice.name,
            "source": choice.source,
            "config": dict(choice.config),
            "passed_over": choice.passed_over,
            "predicted": _predicted(choice.entry),
            "candidates": [
                {
                    "kernel": c.kernel.name,
                    "verdict": c.verdict,
                    "priority": c.kernel.priority,
                    "reasons": [str(r) for r in c.reasons],
                }
                for c in choice.candidates
            ],
            "parts": [p.to_json() for p in self.parts],
            "tuned": self.has_table,
            "outline": self.outline.to_json() if self.outline else None,
            "refused_tables": list(self.refused_tables),
        }

    def __str__(self) -> str:
        """One line a candidate."""
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        choice = self.choice
        name = choice.kernel.name if choice.kernel else f"composed of {', '.join(choice.parts)}"
        lines = [f"{indent}{choice.problem}", f"{indent}  chosen: {name} (by {choice.source})"]
        lines += [f"{indent}  {text}" for text in _times(choice.entry)]
        if choice.config:
            lines.append(f"{indent}  config: {dict(choice.config)}")
        lines += [f"{indent}  runs {text}" for text in self.outline.lines()] if self.outline else []
        for c in choice.candidates:
            why = "; ".join(str(r) for r in c.reasons)
            if c.verdict == "beaten":
                why = f"priority {c.kernel.priority}"
            if c.verdict != "chosen":
                lines.append(f"{indent}  {c.verdict}: {c.kernel.name}{f': {why}' if why else ''}")
        if choice.passed_over:
            lines.append(f"{indent}  passed over: {choice.passed_over}")
        if not self.has_table and choice.source == "priority":
            lines.append(f"{indent}  no tuned table for this op: priority serves")
        lines += [f"{indent}  table refused: {text}" for text in self.refused_tables]
        for part in self.parts:
            lines += part._lines(indent + "  ")
        return lines


def _predicted(entry: Entry | None) -> Mapping[str, Any] | None:
    """What a tuned table says of the time of its choice, and whose it is."""
    if entry is None:
        return None
    names = ("over_best", "predicted_us", "measured_us", "warning")
    return {name: getattr(entry, name) for name in names}


def _times(entry: Entry | None) -> list[str]:
    lines = []
    if entry is not None and entry.measured_us is not None:
        lines.append(f"measured: {entry.measured_us:.1f} us, the fastest of its row")
    elif entry is not None and entry.predicted_us is not None:
        lines.append(
            f"predicted: {entry.predicted_us:.1f} us, {entry.over_best:.3f} times the fastest's"
        )
    return lines + ([f"warning: {entry.warning}"] if entry is not None and entry.warning else [])

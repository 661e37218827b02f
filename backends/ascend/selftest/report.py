"""The report as text to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

_NO_PART = ("machine", "seconds")


def said(error: BaseException) -> str:
    """An error in one line: the library's take several, and tell the cause in a later one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' | '.join(lines)[:400]}"


def failed(report: dict[str, Any]) -> bool:
    """Whether an entry of any part failed."""
    return any(entry["outcome"] == "fail" for _, entry in _entries(report))


def readable(report: dict[str, Any]) -> str:
    """A few lines a part."""
    machine = report["machine"]
    lines = [
        "",
        f"xgr {machine['xgr']} on {machine['device']}, {machine['versions']}",
        f"runtime: {', '.join(machine['runtime']) or 'unknown'}",
        f"cores: {machine['soc']['cube_cores']} cube, {machine['soc']['vector_cores']} vector",
        f"kernels of csrc: {machine['library']}",
    ]
    for part, entries in report.items():
        if part in _NO_PART:
            continue
        counts = Counter(entry["outcome"] for entry in entries)
        summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        lines.append(f"{part}: {summary} in {report['seconds'][part]} s")
        lines += [f"  {_line(entry)}" for entry in entries if _worth(part, entry)]
    lines.append("something failed" if failed(report) else "everything that ran held")
    return "\n".join(lines)


def _entries(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part, entries in report.items():
        if part not in _NO_PART:
            yield from ((part, entry) for entry in entries)


def _worth(part: str, entry: dict[str, Any]) -> bool:
    return entry["outcome"] != "ok" or part in ("graphs", "core_groups", "times")


def _line(entry: dict[str, Any]) -> str:
    text = f"{entry['outcome']:8} {entry['name']}"
    for key in ("cases", "milliseconds", "gbytes", "host_us", "ms"):
        if key in entry:
            text += f"  {key} {entry[key]}"
    for complaint in entry.get("complaints", ())[:2]:
        text += f"\n           {complaint['case']}: {'; '.join(complaint['notes'])}"
    if entry.get("note"):
        text += f"\n           {entry['note']}"
    return text

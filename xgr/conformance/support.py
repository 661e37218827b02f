"""Which kernels a backend has for an op, and why it has none: the matrix that README shows."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from xgr.conformance.entries import gaps_of, kernels_of
from xgr.errors import InputError
from xgr.ops import specs

BEGIN, END = "<!-- support-matrix -->", "<!-- /support-matrix -->"
COLUMNS = ("op", "tier", "kernel", "dtypes", "graph_safe", "deterministic", "gaps")


def rows(device: str) -> Sequence[Mapping[str, str]]:
    """One row a kernel of a device; an op without a kernel has a row with the gaps' reasons."""
    found = []
    for op, declared in specs().items():
        for kernel in kernels_of(device, op):
            name = kernel if isinstance(kernel, str) else kernel.name
            row = {"op": op, "tier": declared.tier, "kernel": name, "gaps": _gaps(device, op, name)}
            if not isinstance(kernel, str):
                row["dtypes"] = " ".join(kernel.dtypes)
                row["graph_safe"] = "yes" if kernel.graph_safe else "no"
                promised = kernel.deterministic and declared.deterministic
                row["deterministic"] = "yes" if promised else "no"
            found.append({column: row.get(column, "") for column in COLUMNS})
    return found


def csv_text(device: str) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(device))
    return text.getvalue()


def markdown(devices: Sequence[str]) -> str:
    """Ops by devices: the kernels' names, or why there are none."""
    lines = [f"| op | {' | '.join(devices)} |", "|---" * (len(devices) + 1) + "|"]
    cells = {device: _cells(device) for device in devices}
    lines += [f"| {op} | {' | '.join(cells[d][op] for d in devices)} |" for op in specs()]
    return "\n".join(lines)


def replace_matrix(readme: str, matrix: str) -> str:
    """A text with the part between the markers replaced.

    Raises:
        InputError: the markers are missing.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"the text has no lines {BEGIN} and {END} to put the matrix between")
    return f"{before}{BEGIN}\n\n{matrix}\n\n{END}{after}"


def write(devices: Sequence[str], docs: Path, readme: Path) -> Sequence[Path]:
    """Write docs/<device>.csv of every device and the matrix of the README.

    Raises:
        InputError: the README is missing or has no markers.
    """
    if not readme.is_file():
        raise InputError(f"{readme} is not there; name the README with --readme")
    text = replace_matrix(readme.read_text(encoding="utf-8"), markdown(devices))
    docs.mkdir(parents=True, exist_ok=True)
    written = [docs / f"{device}.csv" for device in devices]
    for device, path in zip(devices, written, strict=True):
        path.write_text(csv_text(device), encoding="utf-8")
    readme.write_text(text, encoding="utf-8")
    return [*written, readme]


def _cells(device: str) -> Mapping[str, str]:
    cells: dict[str, str] = {}
    for row in rows(device):
        name = row["kernel"].rpartition(".")[2]
        text = name + (f" (not: {row['gaps']})" if row["gaps"] and name else row["gaps"])
        cells[row["op"]] = ", ".join(filter(None, (cells.get(row["op"], ""), text)))
    return cells


def _gaps(device: str, op: str, kernel: str) -> str:
    listed = [g for g in gaps_of(device) if g.op == op and g.kernel in ("", kernel)]
    return "; ".join(g.reason for g in listed)

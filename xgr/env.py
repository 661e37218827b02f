"""Every environment variable that xgr reads, in one table; read once, when a runtime is made."""

from __future__ import annotations

import os
from dataclasses import dataclass

from xgr.errors import InputError


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable: name, default and meaning."""

    name: str
    default: str
    meaning: str


VARIABLES = (
    Variable(
        "XGR_KERNEL", "", "force kernels: op=kernel, comma separated (beam_sort=cpu_ref.fast)"
    ),
    Variable("XGR_TABLES", "", "folder of tuned tables that is read before the shipped ones"),
    Variable("XGR_DETERMINISTIC", "0", "1 removes kernels that do not promise equal bits"),
    Variable("XGR_ASCEND_OPS", "", "library of the Ascend kernels, unless in their build folder"),
)


@dataclass(frozen=True, slots=True)
class Env:
    """The variables, parsed."""

    kernels: dict[str, str]
    tables: str
    deterministic: bool


def read() -> Env:
    """Parse the environment.

    Raises:
        InputError: a value has another form than the table says.
    """
    value = {v.name: os.environ.get(v.name, v.default) for v in VARIABLES}
    kernels: dict[str, str] = {}
    for part in filter(None, (p.strip() for p in value["XGR_KERNEL"].split(","))):
        op, equals, kernel = (text.strip() for text in part.partition("="))
        if not (op and equals and kernel):
            raise InputError(
                f"XGR_KERNEL has {part!r}, need op=kernel, comma separated, "
                "as in XGR_KERNEL=beam_sort=cpu_ref.reference"
            )
        if kernels.setdefault(op, kernel) != kernel:
            raise InputError(f"XGR_KERNEL names {kernels[op]} and {kernel} for {op}, need one")
    if value["XGR_DETERMINISTIC"] not in ("0", "1"):
        raise InputError(f"XGR_DETERMINISTIC is {value['XGR_DETERMINISTIC']!r}, allowed: 0, 1")
    return Env(kernels, value["XGR_TABLES"], value["XGR_DETERMINISTIC"] == "1")

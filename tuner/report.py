"""What a table is worth: regrets on held-out problems as text and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xgr.bench import plot as plots
from xgr.ops import specs
from xgr.registry.table import MODELLED, mismatch, parse

Table = Mapping[str, Any]

WAYS = {"tree": "tuned table", "heuristic": "kernels' own rules", "fixed": "one configuration"}


@dataclass(frozen=True, slots=True)
class Lines:
    """A heading, a table and remarks."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    remarks: Sequence[str] = ()


def check(table: Table) -> None:
    """Refuse what is no table of this build.

    Raises:
        ValueError, KeyError, TypeError: with the reason.
    """
    reason = mismatch(table, specs())
    if reason:
        raise ValueError(reason)
    parse("", table, specs()[table["op"]])


def summary(table: Table) -> dict[str, Any]:
    """What a report says, as plain types."""
    names = ("op", "dtype", "device", "basis", "fit", "held_out")
    return {name: table[name] for name in names}


def lines(table: Table) -> Lines:
    """A report of a table."""
    judged, fitted = table["held_out"], table["fit"]
    heading = (
        f"{table['op']} in {table['dtype']} on {table['device']}: {fitted['rows']} problems "
        f"fitted, {sum(1 for f in table['tree']['feature'] if f < 0)} leaves, "
        f"{fitted['cross_validated_regret']:.1%} mean regret in cross-validation"
    )
    if table["basis"] == MODELLED:
        heading += f"; {MODELLED}: every time below is of a cost model"
    if judged is None:
        return Lines(heading, ("held out",), [], ["no problem was measured twice: more --budget"])
    rows = [
        (shown, *(f"{judged[way][name]:.1%}" for name in ("mean", "p95", "worst")))
        for way, shown in WAYS.items()
    ]
    remarks = [
        f"{judged['problems']} problems held out; measurements of one candidate differ by "
        f"{judged['noise']:.1%} in the median",
        f"the table is {judged['gain_over_heuristic']:.3f} times as fast as the kernels' own rules "
        f"and {judged['gain_over_fixed']:.3f} times as fast as {judged['fixed_candidate']} "
        "(geometric means)",
    ]
    return Lines(heading, ("regret", "mean", "p95", "worst"), rows, remarks)


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw mean and p95 regret of each way to choose, an op a group.

    Raises:
        InputError: matplotlib is missing, or the file has another suffix than that of a plot or
            cannot be written.
    """
    plots.check(path)
    from matplotlib.figure import Figure

    judged = [table for table in tables if table["held_out"] is not None]
    figure = Figure(figsize=(2 + 2.2 * max(1, len(judged)), 3.6))
    axes = figure.subplots()
    for number, (way, shown) in enumerate(WAYS.items()):
        places = [at + 0.25 * (number - 1) for at in range(len(judged))]
        mean = [100 * table["held_out"][way]["mean"] for table in judged]
        p95 = [100 * table["held_out"][way]["p95"] for table in judged]
        axes.bar(places, mean, 0.22, label=f"{shown}, mean")
        axes.plot(places, p95, "k_", markersize=12, label="p95" if number == 0 else None)
    axes.set_xticks(range(len(judged)), [f"{t['op']}\n{t['dtype']}" for t in judged])
    axes.set_ylabel("regret on held-out problems (%)")
    axes.legend(fontsize="small")
    figure.tight_layout()
    plots.save(figure, path)

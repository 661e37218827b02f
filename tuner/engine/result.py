"""Runs as a result: the best setting for throughput and for latency, and the table of all."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xgr.bench import record
from xgr.errors import InputError
from xgr.tuner.engine.measure import Run
from xgr.tuner.engine.space import Setting, Space
from xgr.tuner.report import Lines

SCHEMA = 1
Result = dict[str, Any]
Entry = dict[str, Any]

# a figure of an entry, and whether more of it is better
GOALS = {"throughput": ("requests_per_s", True), "latency": ("alone_p50_ms", False)}


def result(
    head: Mapping[str, Any], runs: Sequence[Run], found: Space, default: Setting, rounds: int
) -> Result:
    """What was found, as JSON.

    Args:
        head: of the journal.
        runs: its rows.
        found: the settings that were to be measured, and those refused.
        default: what an engine has without a setting.
        rounds: times that each was to be measured.

    Raises:
        InputError: nothing was measured.
    """
    by_setting = dict[Setting, list[Run]]()
    refused = dict(found.refused)
    for run in runs:
        if run.failed:
            refused[run.setting] = run.failed
        else:
            by_setting.setdefault(run.setting, []).append(run)
    refused = {one: why for one, why in refused.items() if one not in by_setting}
    if not by_setting:
        why = "; ".join(f"{one}: {reason}" for one, reason in refused.items())
        raise InputError(f"no setting was measured: {why or 'give more --budget'}")
    entries = [
        _entry(one, by_setting[one], head["slo_ms"], one == default) for one in sorted(by_setting)
    ]
    short = [
        one
        for one in found.settings
        if one not in refused and len(by_setting.get(one, ())) < rounds
    ]
    return {
        "schema": SCHEMA,
        **{name: value for name, value in head.items() if name not in ("journal", "environment")},
        "best": {goal: _best(entries, *GOALS[goal]) for goal in GOALS},
        "settings": entries,
        "refused": [{**_keys(one), "reason": why} for one, why in sorted(refused.items())],
        "short_of_rounds": [_keys(one) for one in sorted(short)],
        "environment": head.get("environment", {}),
    }


def write(found: Result, path: Path) -> None:
    """Write a result.

    Raises:
        InputError: the file cannot be written.
    """
    record.write_text(path, json.dumps(found, indent=1, allow_nan=False) + "\n")


def lines(found: Result) -> Lines:
    """A result as text."""
    heading = (
        f"engine on {found['device']}: {found['model']} in {found['dtype']}, "
        f"{found['beam_width']} beams, {found['prompt_tokens']} tokens, "
        f"P99 within {found['slo_ms']:g} ms"
    )
    columns = ("setting", "alone P50 ms", "P99 ms", "requests/s within", "P99 ms", "under way",
               "memory GB", "rounds", "")  # fmt: skip
    rows = [_row(entry, found["best"]) for entry in found["settings"]]
    remarks = [f"refused: {_text(one)}: {one['reason']}" for one in found["refused"]]
    if found["short_of_rounds"]:
        listed = "; ".join(_text(one) for one in found["short_of_rounds"])
        remarks.append(f"the budget ended before all rounds of {listed}: the same command goes on")
    remarks += [_advice(goal, found) for goal in GOALS]
    return Lines(heading, columns, rows, remarks)


def _entry(setting: Setting, runs: Sequence[Run], slo_ms: float, default: bool) -> Entry:
    alone = [run.alone["p50_ms"] for run in runs]
    kept = [loop for run in runs if (loop := run.within(slo_ms)) is not None]
    whole = len(kept) == len(runs)  # a limit that was missed once is not kept
    rates = [loop["requests_per_s"] for loop in kept]
    return {
        **_keys(setting),
        "default": default,
        "alone_p50_ms": _mean(alone),
        "alone_p99_ms": _mean([run.alone["p99_ms"] for run in runs]),
        "alone_p50_ms_spread": _spread(alone),
        "requests_per_s": _mean(rates) if whole else None,
        "requests_per_s_spread": _spread(rates) if whole else None,
        "p99_ms": _mean([loop["p99_ms"] for loop in kept]) if whole else None,
        "concurrency": [loop["concurrency"] for loop in kept],
        # of the loop nearest to the limit, in the round furthest from it
        "least_p99_ms": max(min(loop["p99_ms"] for loop in run.loops) for run in runs),
        "memory_bytes": max(run.memory_bytes for run in runs),
        "rounds": len(runs),
        "runs": [run.to_json() for run in runs],
    }


def _best(entries: Sequence[Entry], figure: str, more: bool) -> Entry | None:
    """The setting with the best figure, and what it is worth beside the default."""
    measured = [one for one in entries if one[figure] is not None]
    if not measured:
        return None
    best = (max if more else min)(measured, key=lambda one: one[figure])
    found = {"lanes": best["lanes"], "graph_tokens": best["graph_tokens"], figure: best[figure]}
    found["pass"] = _text(best)
    usual = next((one for one in measured if one["default"]), None)
    gain = apart = None
    if usual is not None:
        ratio = best[figure] / usual[figure]
        gain = (ratio if more else 1 / ratio) - 1
        spreads = [one[f"{figure}_spread"] for one in (best, usual)]
        apart = None if None in spreads else max(spreads)
    return {**found, "default": best["default"], "over_default": gain, "spread": apart}


def _advice(goal: str, found: Result) -> str:
    best = found["best"][goal]
    if best is None:
        least = min(found["settings"], key=lambda one: one["least_p99_ms"])
        return (
            f"{goal}: no setting keeps P99 within {found['slo_ms']:g} ms; the nearest, "
            f"{_text(least)}, has {least['least_p99_ms']:.1f} ms: give a greater --slo-ms"
        )
    unit = {"throughput": "requests/s", "latency": "ms alone"}[goal]
    said = f"{goal}: {best['pass']} ({best[GOALS[goal][0]]:.2f} {unit}"
    if best["default"]:
        return f"{said}, the default)"
    gain, apart = best["over_default"], best["spread"]
    if gain is None:
        return f"{said}; the default has no figure)"
    said += f", {gain:.1%} better than the default"
    if apart is None:
        return f"{said}, by one round)"
    close = ": no more than rounds differ" if gain <= apart else ""
    return f"{said}, rounds {apart:.1%} apart{close})"


def _row(entry: Entry, best: Mapping[str, Any]) -> Sequence[object]:
    named = [goal for goal, one in best.items() if one is not None and one["pass"] == _text(entry)]
    named = ["default"] * entry["default"] + [f"best {goal}" for goal in named]
    rate, tail = entry["requests_per_s"], entry["p99_ms"]
    return (
        _text(entry),
        f"{entry['alone_p50_ms']:.2f}",
        f"{entry['alone_p99_ms']:.2f}",
        "none" if rate is None else f"{rate:.1f}",
        f"from {entry['least_p99_ms']:.1f}" if tail is None else f"{tail:.1f}",
        "/".join(str(count) for count in entry["concurrency"]),
        f"{entry['memory_bytes'] / 1e9:.2f}",
        entry["rounds"],
        ", ".join(named),
    )


def _keys(setting: Setting) -> dict[str, int]:
    return {"lanes": setting.lanes, "graph_tokens": setting.graph_tokens}


def _text(entry: Mapping[str, Any]) -> str:
    return str(Setting(entry["lanes"], entry["graph_tokens"]))


def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 3)


def _spread(values: Sequence[float]) -> float | None:
    """How far the rounds lie apart, as a share of their mean; None of one round."""
    if len(values) < 2:
        return None
    return round((max(values) - min(values)) / statistics.fmean(values), 4)

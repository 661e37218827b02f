"""Plots of an engine's record; matplotlib is imported when one is drawn."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from xgr.bench import record
from xgr.errors import InputError

SUFFIXES: Final = (".png", ".svg", ".pdf")


def check(path: Path | str) -> None:
    """Find out before the work whether a plot can be drawn into a file; makes its folders.

    Raises:
        InputError: another suffix than of `SUFFIXES`, a file that cannot be written, or matplotlib
            is missing, with the command that mends it.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(
            f"a plot cannot be drawn into {path}: its suffix is its format, "
            f"allowed: {', '.join(SUFFIXES)}"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError('a plot needs matplotlib, which is missing: pip install "xgr[bench]"')
    record.check_writable(path)


def plot(
    path: Path | str,
    title: str,
    *,
    latency_ms: Sequence[float] = (),
    rates: Sequence[tuple[float, float, bool]] = (),
    slo_ms: float | None = None,
    memory: Mapping[str, int] | None = None,
) -> None:
    """Draw what was measured, a panel each, into a PNG, SVG or PDF file.

    Args:
        path: the file; its suffix is the format, one of `SUFFIXES`.
        title: above the panels.
        latency_ms: of requests alone, drawn as a cumulative distribution with P50 and P99.
        rates: (requests a second, P99 in ms, within the limit) of open-loop runs.
        slo_ms: the limit of P99, a line among `rates`.
        memory: bytes by what holds them.

    Raises:
        InputError: as `check` has it.
    """
    check(path)
    from matplotlib.figure import Figure

    panels: list[Callable[[Any], None]] = []
    if latency_ms:
        panels.append(lambda axes: _distribution(axes, sorted(latency_ms)))
    if rates:
        panels.append(lambda axes: _rates(axes, rates, slo_ms))
    if memory:
        panels.append(lambda axes: _memory(axes, memory))
    figure = Figure(figsize=(4.5 * max(1, len(panels)), 3.5), layout="constrained")
    figure.suptitle(title)
    for at, draw in enumerate(panels):
        draw(figure.add_subplot(1, len(panels), at + 1))
    save(figure, path)


def save(figure: Any, path: Path | str) -> None:
    """Write a figure of matplotlib.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error


def _distribution(axes: Any, ms: Sequence[float]) -> None:
    shares = [100 * (at + 1) / len(ms) for at in range(len(ms))]
    axes.step(ms, shares, where="post")
    for share, style in ((50, "--"), (99, ":")):
        at = next(ms[i] for i, below in enumerate(shares) if below >= share)
        axes.axvline(at, linestyle=style, color="grey", label=f"P{share} {at:.2f} ms")
    axes.set(xlabel="latency alone [ms]", ylabel="requests [%]")
    axes.legend()


def _rates(axes: Any, rates: Sequence[tuple[float, float, bool]], slo_ms: float | None) -> None:
    for kept, marker in ((True, "o"), (False, "x")):
        chosen = [(rate, p99) for rate, p99, within in rates if within is kept]
        if chosen:
            axes.plot(*zip(*chosen, strict=True), marker, label="kept" if kept else "missed")
    if slo_ms is not None:
        axes.axhline(slo_ms, linestyle=":", color="grey")
    axes.set(xlabel="offered [requests/s]", ylabel="P99 [ms]")
    axes.legend()


def _memory(axes: Any, memory: Mapping[str, int]) -> None:
    axes.barh(list(memory), [held / 1e9 for held in memory.values()])
    axes.invert_yaxis()
    axes.set(xlabel="memory [GB]")

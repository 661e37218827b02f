"""Beams follow their parents on a GPU: K/V moved in place, by torch, or not at all.

28 layers of 8 K/V heads of 128 bfloat16 elements, three tokens a beam, one request of 128, 256 and
512 beams, whose parents are drawn: kv_reorder in place, torch's index_select into other memory,
and beam_ancestors, which leaves K/V where it is and moves indices.

    python -m benchmarks.kv_reorder --json benchmarks/results/kv_reorder.json
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.gpu.floor import Work
from benchmarks.gpu.kernels import able, build, space
from benchmarks.gpu.staged import ints
from benchmarks.gpu.timing import Call, device_settings, graph_us, measure_ceilings, set_count
from xgr import Runtime, runtime
from xgr.bench import record
from xgr.cli.output import print_table

LAYERS, TOKENS, GROUPS, SIZE = 28, 3, 8, 128
WIDTHS = (128, 256, 512)


def main() -> None:
    args = parse()
    settings = device_settings(measure_ceilings())
    rt = runtime("cuda")
    found = [measure(rt, width, args.sweep) for width in WIDTHS]
    columns = [name for name in found[0]["us"] if "=" not in name]
    print_table(
        ("BW", "floor us", *columns),
        [
            (
                one["BW"],
                f"{one['floor_us']:.1f}",
                *(f"{one['us'][c]:.1f} ({one['us'][c] / one['floor_us']:.2f}x)" for c in columns),
            )
            for one in found
        ],
    )
    for one in found if args.sweep else ():
        best = min((us, name) for name, us in one["us"].items() if "=" in name)
        print("BW {}: best is {:.1f} us, {}".format(one["BW"], *best))
    if args.json:
        settings |= {"layers": LAYERS, "tokens": TOKENS, "heads": GROUPS, "size": SIZE}
        record.write(args.json, "kv_reorder", found, settings=settings)


def work(width: int, tokens: int = TOKENS) -> Work:
    """K and V of every layer read once and written once."""
    return Work(2 * 2 * LAYERS * width * tokens * GROUPS * SIZE * 2)


def parents(width: int, seed: int = 0) -> torch.Tensor:
    """int32 [width], sorted, drawn with repetition as beams draw them, on the CPU."""
    drawn = torch.randint(width, (width,), generator=torch.Generator().manual_seed(seed))
    return drawn.sort().values.int()


def measure(rt: Runtime, width: int, sweep: bool = False) -> dict[str, Any]:
    """The floor and the microseconds of each way; what they write is held to plain indexing.

    Raises:
        ValueError: a way writes something else.
    """
    parent = parents(width).cuda()
    rows = {"row_start": ints((0, width)), "live": ints((width,)), "status": ints((0,))}
    shape = (LAYERS, width, TOKENS, GROUPS, SIZE)
    pairs = [
        tuple(torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        for _ in range(set_count(work(width).bytes // 2))
    ]
    moves = [{"k": k, "v": v, "parent": parent, "step": TOKENS, **rows} for k, v in pairs]
    want = [one.index_select(1, parent) for one in pairs[0]]
    calls = _bound(rt, "kv_reorder", moves)
    calls[0]()
    _hold("kv_reorder", want, pairs[0])
    us = {"kv_reorder": graph_us(calls)}
    problem = rt.problem("kv_reorder", **moves[0])
    for kernel in able(rt, problem) if sweep else ():
        for config in space(rt, kernel, problem):
            launch = build(rt, kernel, problem, config)
            shown = " ".join(f"{name}={value}" for name, value in config.items())
            us[f"{kernel.name} {shown}"] = graph_us(_calls(launch, moves))

    # torch cannot move in place: it has somewhere else to write
    spare = [torch.empty_like(one) for one in pairs[0]]
    us["index_select"] = graph_us([_select(pair, parent, spare) for pair in pairs])

    ancestors = torch.arange(width, dtype=torch.int32, device="cuda")[:, None].repeat(1, TOKENS)
    out = torch.empty_like(ancestors)
    step = TOKENS - 1  # the last slot becomes the row itself
    indices = {"ancestors": ancestors, "parent": parent, "out": out, "step": step, **rows}
    (call,) = _bound(rt, "beam_ancestors", [indices])
    call()
    followed = ancestors.index_select(0, parent)
    followed[:, step] = ancestors[:, step]
    _hold("beam_ancestors", [followed], [out])
    us["beam_ancestors"] = graph_us([call])
    return {"BW": width, "floor_us": work(width).floor_us(), "us": us}


def _bound(rt: Runtime, op: str, sets: Sequence[dict[str, Any]]) -> Sequence[Call]:
    return _calls(rt.bind(op, rt.problem(op, **sets[0])), sets)


def _calls(launch: Callable[..., None], sets: Sequence[dict[str, Any]]) -> Sequence[Call]:
    def call(arguments: dict[str, Any]) -> Call:
        return lambda: launch(**arguments)

    return [call(one) for one in sets]


def _select(
    pair: Sequence[torch.Tensor], parent: torch.Tensor, out: Sequence[torch.Tensor]
) -> Call:
    def call() -> None:
        for one, target in zip(pair, out, strict=True):
            torch.index_select(one, 1, parent, out=target)

    return call


def _hold(name: str, want: Sequence[torch.Tensor], got: Sequence[torch.Tensor]) -> None:
    if not all(torch.equal(a, b) for a, b in zip(want, got, strict=True)):
        raise ValueError(f"{name} wrote something else than indexing does")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sweep", action="store_true", help="every configuration of the kernels")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_main(main)

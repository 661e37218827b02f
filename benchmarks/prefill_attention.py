"""Attention of whole prompts on a GPU: every kernel of xgr, torch and FlashInfer.

One layer with 16 query and 8 K/V heads of 128 bfloat16 elements, causal, prompts packed. Every
column is held to float32 on some queries before it is timed.

    python -m benchmarks.prefill_attention --peers flashinfer \
        --json benchmarks/results/prefill_attention.json
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.gpu import flashinfer
from benchmarks.gpu.ahead import compile_ahead
from benchmarks.gpu.kernels import Config, able, build, launches, named, plan, space
from benchmarks.gpu.prompts import GROUPS, HEADS, Inputs, Prompts, batches
from benchmarks.gpu.staged import SIZE
from benchmarks.gpu.timing import Call, device_settings, graph_us, measure_ceilings, set_count
from xgr import Runtime, runtime
from xgr.bench import record
from xgr.cli.output import print_table

Column = tuple[str, Sequence[Call]]


def main() -> None:
    args = parse()
    settings = device_settings(measure_ceilings())
    rt = runtime("cuda")
    jobs = [(x, *one) for x in batches() for one in candidates(rt, x, args.sweep)]
    compile_ahead(launch_once, jobs)
    found = [measure(rt, prompts, args) for prompts in batches()]
    columns = list(dict.fromkeys(name for one in found for name in one["us"] if "=" not in name))
    print_table(
        ("prompts", "floor us", "chosen", *columns),
        [
            (
                one["prompts"],
                f"{one['floor_us']:.1f}",
                one["chosen"],
                *(_cell(one, name) for name in columns),
            )
            for one in found
        ],
    )
    for one in found if args.sweep else ():
        best = min((us, name) for name, us in one["us"].items() if name.startswith("cuda."))
        print("{}: best is {:.1f} us, {}".format(one["prompts"], *best))
    if args.json:
        settings |= flashinfer.settings() if args.peers else {}
        settings |= {"heads": f"{HEADS}/{GROUPS}", "d": SIZE, "dtype": "bfloat16"}
        record.write(args.json, "prefill_attention", found, settings=settings)


def measure(rt: Runtime, prompts: Prompts, args: argparse.Namespace) -> dict[str, Any]:
    """The floor and the microseconds of every column."""
    sets = [Inputs(prompts) for _ in range(set_count(prompts.work.bytes))]
    us = {}
    for name, calls in _columns(rt, prompts, sets, args):
        sets[0].out.fill_(float("nan"))
        sets[0].check(name, calls[0]())
        us[name] = graph_us(calls)
    return {
        "prompts": str(prompts),
        "floor_us": prompts.work.floor_us(),
        "chosen": rt.choose(prompts.problem.op, prompts.problem).name,
        "us": us,
    }


def _columns(
    rt: Runtime, prompts: Prompts, sets: Sequence[Inputs], args: argparse.Namespace
) -> Iterator[Column]:
    for name, config in candidates(rt, prompts, args.sweep):
        shown = " ".join(f"{key}={value}" for key, value in config.items())
        calls = _ours(rt, prompts, sets, name, config)
        if launches(calls[0]):
            yield f"{name} {shown}".strip(), calls
    if len(set(prompts.lengths)) == 1:
        yield "torch SDPA", [_dense(one) for one in sets]
    yield "torch varlen", [_varlen(one) for one in sets]
    if "flashinfer" in args.peers:
        yield from _flashinfer(prompts, sets)


def candidates(rt: Runtime, prompts: Prompts, sweep: bool) -> Sequence[tuple[str, Config]]:
    """Every kernel by its own choice, and in a sweep by what it says can be tried."""
    return [
        (kernel.name, dict(config))
        for kernel in able(rt, prompts.problem)
        for config in ({}, *(space(rt, kernel, prompts.problem) if sweep else ()))
    ]


def launch_once(job: tuple[Prompts, str, Config]) -> None:
    """Compile what a candidate needs."""
    prompts, name, config = job
    launches(_ours(runtime("cuda"), prompts, [Inputs(prompts)], name, config)[0])
    torch.cuda.synchronize()


def _ours(
    rt: Runtime, prompts: Prompts, sets: Sequence[Inputs], name: str, config: Config
) -> Sequence[Call]:
    launch = build(rt, named(rt, prompts.problem.op, name), prompts.problem, config)
    plan(launch, prompts.lengths, prompts.lengths)

    def call(one: Inputs, arguments: dict[str, Any]) -> Call:
        def run() -> torch.Tensor:
            launch(**arguments)
            return one.out

        return run

    return [call(one, one.arguments()) for one in sets]


def _dense(one: Inputs) -> Call:
    count = len(one.prompts.lengths)
    q, k, v = (a.view(count, -1, *a.shape[1:]).transpose(1, 2) for a in (one.q, one.k, one.v))
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)


def _varlen(one: Inputs) -> Call:
    longest, attend = max(one.prompts.lengths), torch.ops.aten._flash_attention_forward
    where = (one.starts, one.starts, longest, longest)
    return lambda: attend(one.q, one.k, one.v, *where, 0.0, True, False, scale=SIZE**-0.5)[0]


def _flashinfer(prompts: Prompts, sets: Sequence[Inputs]) -> Iterator[Column]:
    library = importlib.import_module("flashinfer")
    indptr = torch.tensor([0, *prompts.lengths]).cumsum(0).int()
    for backend in ("fa2", "fa3"):
        space_for_parts = flashinfer.workspace(0)
        wrapper = library.BatchPrefillWithRaggedKVCacheWrapper(space_for_parts, backend=backend)
        kind = {"causal": True, "q_data_type": torch.bfloat16}
        if flashinfer.planned(wrapper, indptr, indptr, HEADS, GROUPS, SIZE, **kind):
            yield f"FlashInfer {backend}", [_run(wrapper, one) for one in sets]


def _run(wrapper: Any, one: Inputs) -> Call:
    return lambda: wrapper.run(one.q, one.k, one.v)


def _cell(one: dict[str, Any], name: str) -> str:
    us = one["us"].get(name)
    return "-" if us is None else f"{us:.1f} ({us / one['floor_us']:.2f}x)"


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; peers that are not here are left out, and said to be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", nargs="*", default=[], choices=["flashinfer"])
    parser.add_argument("--sweep", action="store_true", help="every configuration of the kernels")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args(words)
    args.peers = flashinfer.present(args.peers)
    return args


if __name__ == "__main__":
    run_main(main)

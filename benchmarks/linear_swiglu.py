"""The gate and up projections of the MLP, their norm and their gate on a GPU, in one launch or two.

Qwen3 0.6B, 1.7B and 4B in bfloat16, at the rows of decode and the tokens of prefill: the kernel of
one launch, the product by cuBLAS with the gate behind it, the product alone, and the floor. What
the registry chooses is marked.

    python -m benchmarks.linear_swiglu --json benchmarks/results/linear_swiglu.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.gpu.floor import Work
from benchmarks.gpu.timing import device_settings, graph_us, measure_ceilings, set_count
from benchmarks.plain_ops import MODELS, Arguments, floats, fresh
from xgr import Runtime, runtime
from xgr.bench import record
from xgr.cli.output import print_table
from xgr.ops import spec

OP, EPS = "linear_swiglu", 1e-6
ROWS = (128, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
# first and last rows that are held to float32, and how far bfloat16 may be from it
HELD, FAR = 128, 0.1


def main() -> None:
    args = parse()
    settings = device_settings(measure_ceilings())
    rt = runtime("cuda")
    found = [one for name in args.models for one in measure(rt, name, args.rows)]
    print_table(
        ("model", "rows", "floor us", "one launch", "two", "product", "chosen"),
        [
            (
                one["model"], str(one["rows"]), f"{one['floor_us']:.1f}", f"{one['fused_us']:.1f}",
                f"{one['composed_us']:.1f}", f"{one['product_us']:.1f}", one["chosen"],
            )
            for one in found
        ],
    )  # fmt: skip
    if args.json:
        record.write(args.json, "linear_swiglu", found, settings=settings)


def measure(rt: Runtime, model: str, counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Microseconds of each way at every count of rows.

    Raises:
        ValueError: a way gives something else than float32 does.
    """
    hidden, inner, *_ = MODELS[model]
    for rows in counts:
        one: Arguments = {
            "x": floats(rows, hidden), "weight": floats(2 * inner, hidden) * hidden**-0.5,
            "out": floats(rows, inner), "eps": EPS,
        }  # fmt: skip
        problem = rt.problem(OP, **one)
        work = Work(spec(OP).bytes(problem), spec(OP).flops(problem))
        sets = [one, *(fresh(one) for _ in range(min(8, set_count(work.bytes)) - 1))]
        found: dict[str, Any] = {"model": model, "rows": rows, "floor_us": work.floor_us()}
        for way, kernel in (("fused_us", "cuda.hopper"), ("composed_us", "composed")):
            bound = rt.bind(OP, problem, kernel)
            bound(**one)
            _hold(kernel, one)
            found[way] = graph_us([partial(bound, **each) for each in sets])
        product = floats(rows, 2 * inner)
        found["product_us"] = graph_us(
            [partial(torch.mm, each["x"], each["weight"].t(), out=product) for each in sets]
        )
        found["chosen"] = rt.choose(problem.op, problem).name
        yield found


def _hold(kernel: str, one: Arguments) -> None:
    held = torch.cat([torch.arange(HELD), torch.arange(-HELD, 0)]).to(one["x"].device)
    x = one["x"][held].float()
    normed = x * torch.rsqrt((x * x).mean(1, keepdim=True) + EPS)
    gate, up = (normed @ one["weight"].float().t()).chunk(2, dim=1)
    want = torch.nn.functional.silu(gate) * up
    far = (one["out"][held].float() - want).abs().max().item()
    if not far < FAR:
        raise ValueError(f"{kernel} of {OP} is {far} from float32 at {list(one['x'].shape)}")


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_main(main)

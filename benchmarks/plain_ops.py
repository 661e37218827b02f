"""The plain ops of a forward on a GPU, beside their floors.

Norm with residual, rotation with the K/V write, gate and embedding of Qwen3 0.6B, 1.7B and 4B, at
the rows of a decode forward and the tokens of a prefill, in bfloat16; linear_lse over a vocabulary
of 176,256 beside cuBLAS and torch's logsumexp.

    python -m benchmarks.plain_ops --json benchmarks/results/plain_ops.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from benchmarks._command import run_main, writable
from benchmarks.gpu.floor import Work
from benchmarks.gpu.staged import ints, starts
from benchmarks.gpu.timing import Call, device_settings, graph_us, measure_ceilings, set_count
from xgr import Runtime, runtime
from xgr.bench import record
from xgr.cli.output import print_table

# hidden size, MLP size, query heads, K/V heads
MODELS = {
    "0.6B": (1024, 3072, 16, 8),
    "1.7B": (2048, 6144, 16, 8),
    "4B": (2560, 9728, 32, 8),
}
SIZE, TOKENS_A_PROMPT, SLOTS, VOCABULARY, ITEM = 128, 1024, 2, 176_256, 2
ROWS, TOKENS, HEAD_ROWS = (128, 512, 8192), (1024, 16384), (128, 512, 8192)

Arguments = Mapping[str, Any]


def main() -> None:
    args = parse()
    settings = device_settings(measure_ceilings())
    rt = runtime("cuda")
    found = [row for name in args.models for row in measure(rt, name)]
    if not args.no_head:
        found += [measure_head(rt, rows) for rows in HEAD_ROWS]
    print_table(
        ("model", "op", "rows", "floor us", "us", "x floor", "torch us"),
        [
            (
                one["model"], one["op"], str(one["rows"]), f"{one['floor_us']:.1f}",
                f"{one['us']:.1f}", f"{one['us'] / one['floor_us']:.2f}",
                f"{one['torch_us']:.1f}" if "torch_us" in one else "",
            )
            for one in found
        ],
    )  # fmt: skip
    if args.json:
        record.write(args.json, "plain_ops", found, settings=settings)


def measure(rt: Runtime, model: str) -> Iterator[dict[str, Any]]:
    """Microseconds of each op of a forward, at every count of rows and tokens."""
    for rows in (*ROWS, *TOKENS):
        for op, work, one in forward(model, rows, prefill=rows in TOKENS):
            sets = [one, *(fresh(one) for _ in range(set_count(work.bytes) - 1))]
            us = graph_us(calls(rt, op, sets))
            floor_us = work.floor_us()
            yield {"model": model, "op": op, "rows": rows, "us": us, "floor_us": floor_us}


def forward(model: str, rows: int, *, prefill: bool) -> Iterator[tuple[str, Work, Arguments]]:
    """Ops of a forward over so many rows, what each must move, and arguments of it."""
    hidden, inner, heads, groups = MODELS[model]
    wide = (heads + 2 * groups) * SIZE
    norm = {"x": floats(rows, hidden), "weight": floats(hidden), "eps": 1e-6}
    norm |= {"residual": floats(rows, hidden), "out": floats(rows, hidden)}
    yield "rms_norm", Work(4 * ITEM * rows * hidden), norm
    gate = {"gate_up": floats(rows, 2 * inner), "hidden": floats(rows, hidden), "eps": 1e-6}
    gate |= {"out": floats(rows, inner)}
    yield "normed_swiglu", Work(ITEM * rows * (3 * inner + hidden)), gate
    ids = torch.randint(VOCABULARY, (rows,), device="cuda", dtype=torch.int32)
    embed = {"ids": ids, "table": floats(VOCABULARY, hidden), "out": floats(rows, hidden)}
    yield "embed", Work(2 * ITEM * rows * hidden), embed
    rope = {
        "qkv": floats(rows, wide), "hidden": floats(rows, hidden), "eps": 1e-6,
        "q_norm": floats(SIZE), "k_norm": floats(SIZE),
        "cos": floats(2 * TOKENS_A_PROMPT, SIZE // 2).float(),
        "sin": floats(2 * TOKENS_A_PROMPT, SIZE // 2).float(),
        "out": floats(rows, heads, SIZE),
    }  # fmt: skip
    work = Work(ITEM * rows * (2 * wide + hidden))
    if prefill:
        lengths = [TOKENS_A_PROMPT] * (rows // TOKENS_A_PROMPT)
        begins = starts(lengths)
        arena = {"k": floats(rows, groups, SIZE), "v": floats(rows, groups, SIZE)}
        placed = {"q_start": begins, "prompt_start": begins[:-1], "prompt_len": ints(lengths)}
        yield "rope_prefill", work, {**rope, **arena, **placed}
    else:
        widths = [min(rows, 512)] * max(1, rows // 512)
        own = {"k": floats(rows, SLOTS, groups, SIZE), "v": floats(rows, SLOTS, groups, SIZE)}
        rows_of = {"row_start": starts(widths), "live": ints(widths)}
        lengths_of = {"prompt_len": ints([TOKENS_A_PROMPT] * len(widths))}
        yield "rope_kv", work, {**rope, **own, **rows_of, **lengths_of, "step": 1}


def measure_head(rt: Runtime, rows: int) -> dict[str, Any]:
    """linear_lse of 0.6B, held to torch's logits of the first rows.

    Raises:
        ValueError: they differ.
    """
    hidden = MODELS["0.6B"][0]
    x, head = floats(rows, hidden), floats(VOCABULARY, hidden)
    lse = torch.empty(rows, device="cuda")
    one = {"hidden": x, "head": head, "lse": lse}
    (call,) = calls(rt, "linear_lse", [one])
    call()
    want = (x[:16].float() @ head.float().t()).logsumexp(1)
    if not torch.allclose(lse[:16], want, rtol=1e-4, atol=1e-3):
        raise ValueError(f"linear_lse is {lse[:16].tolist()}, torch's {want.tolist()}")
    work = Work(ITEM * hidden * (rows + VOCABULARY), 2 * rows * hidden * VOCABULARY)
    logits = torch.empty(rows, VOCABULARY, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(rows, device="cuda", dtype=torch.bfloat16)

    def by_torch() -> None:
        torch.mm(x, head.t(), out=logits)
        torch.logsumexp(logits, 1, out=out)

    return {
        "model": "0.6B", "op": "linear_lse", "rows": rows, "floor_us": work.floor_us(),
        "us": graph_us([call]), "torch_us": graph_us([by_torch]),
    }  # fmt: skip


def calls(rt: Runtime, op: str, sets: Sequence[Arguments]) -> Sequence[Call]:
    """The op as bound, on each of the sets."""
    bound = rt.bind(op, rt.problem(op, **sets[0]))

    def call(one: Arguments) -> Call:
        return lambda: bound(**one)

    return [call(one) for one in sets]


def fresh(one: Arguments) -> Arguments:
    """The same arguments in memory of their own, but for the largest: tables are shared."""
    return {
        name: value.clone() if isinstance(value, torch.Tensor) and name != "table" else value
        for name, value in one.items()
    }


def floats(*shape: int) -> torch.Tensor:
    """Normal bfloat16 numbers on the device."""
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--no-head", action="store_true", help="leave linear_lse out")
    parser.add_argument("--json", type=writable, help="write the record of the run")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_main(main)

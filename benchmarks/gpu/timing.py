"""Times of a call on a GPU: replays of one CUDA graph that calls on several input sets in turn.

A graph leaves the host's cost out, and sets whose touched bytes exceed the L2 cache keep one call
from finding what another has left there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any

import torch

from benchmarks.gpu.floor import Ceilings

Call = Callable[[], Any]
# milliseconds of each of n replays
Replay = Callable[[int], Sequence[float]]

# bytes that the sets of a call touch together: twice the L2 cache of an H200
ROTATED = 2 * 60 * 2**20
# fewest calls of a graph, and most sets of a call
LEAST_CALLS, MOST_SETS = 4, 64
# milliseconds of replays that are timed, and how many there are at least and at most
BUDGET_MS, LEAST_REPLAYS, MOST_REPLAYS = 12.0, 3, 40


def set_count(touched: int) -> int:
    """Input sets of a call that touches so many bytes."""
    return max(1, min(MOST_SETS, math.ceil(ROTATED / touched)))


def record_graph(calls: Sequence[Call]) -> Replay:
    """Capture the calls, one after the other, in a CUDA graph."""
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()

    def replay(count: int) -> Sequence[float]:
        marks = [
            [torch.cuda.Event(enable_timing=True) for _ in range(2)]  # type: ignore[no-untyped-call]
            for _ in range(count)
        ]
        for begin, end in marks:
            begin.record()
            graph.replay()
            end.record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in marks]

    return replay


def graph_us(
    calls: Sequence[Call],
    record: Callable[[Sequence[Call]], Replay] = record_graph,
    budget_ms: float = BUDGET_MS,
) -> float:
    """Microseconds of a call: median over replays of a graph that holds every call once.

    Args:
        calls: the call on each input set; fewer than `LEAST_CALLS` are repeated in turn.
        record: makes a graph of them.
        budget_ms: about how long to measure.
    """
    held = list(islice(cycle(calls), max(LEAST_CALLS, len(calls))))
    replay = record(held)
    replay(1)
    (once,) = replay(1)
    count = int(budget_ms / max(once, 1e-3))
    times = replay(max(LEAST_REPLAYS, min(MOST_REPLAYS, count)))
    return statistics.median(times) * 1e3 / len(held)


def measure_ceilings() -> Ceilings:
    """Of this device now: 2 GiB read and written, a bfloat16 product of 8192 x 8192 matrices.

    An elementwise kernel moves the bytes: as a node of a graph, a memcpy reaches two thirds of it.

    Raises:
        SystemExit: there is no GPU.
    """
    if not torch.cuda.is_available():
        raise SystemExit("torch sees no CUDA device: this benchmark needs one (`xgr doctor`)")
    size, held = 8192, 2**31
    source, target = (torch.zeros(held // 4, device="cuda") for _ in range(2))
    copy_us = graph_us([lambda: torch.neg(source, out=target)])
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    product_us = graph_us([lambda: torch.mm(a, b, out=out)])
    return Ceilings(2 * held / copy_us * 1e6, 2 * size**3 / product_us * 1e6)


def device_settings(ceilings: Ceilings) -> dict[str, Any]:
    """What a record says of the device, which is printed as well."""
    print(
        f"{torch.cuda.get_device_name()}: copy {ceilings.bytes_per_s / 1e12:.2f} TB/s, "
        f"bfloat16 product {ceilings.flops_per_s / 1e12:.0f} TFLOP/s",
        flush=True,
    )
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "measured_tbytes_per_s": ceilings.bytes_per_s / 1e12,
        "measured_tflops_per_s": ceilings.flops_per_s / 1e12,
    }

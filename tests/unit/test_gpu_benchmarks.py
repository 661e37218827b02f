"""The harness of benchmarks on a GPU, without one: floors, batches, checks, repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import pytest
import torch

from benchmarks import attention, kv_reorder
from benchmarks.gpu import prompts
from benchmarks.gpu.floor import Ceilings, Work, geomean
from benchmarks.gpu.levels import Beams, Level, Set, levels, swept
from benchmarks.gpu.staged import OWN, SIZE, Batch, Inputs, grid, others, ragged, representative
from benchmarks.gpu.timing import LEAST_CALLS, MOST_REPLAYS, graph_us, set_count
from xgr import runtime

# measured ceilings of an H200, and floors by hand: heads, B, BW, L, us, what sets it
FLOORS = [
    ((16, 8), 1, 128, 256, 0.9, "M"),
    ((16, 8), 1, 512, 1024, 5.5, "C"),
    ((16, 8), 4, 128, 1024, 6.3, "M"),
    ((16, 8), 16, 256, 256, 23.4, "M"),
    ((16, 8), 16, 512, 8192, 705.1, "C"),
    ((32, 8), 1, 128, 1024, 2.8, "C"),
    ((32, 8), 4, 512, 256, 14.6, "M"),
    ((32, 8), 16, 512, 8192, 1410.1, "C"),
]


@pytest.mark.parametrize(("heads", "requests", "width", "tokens", "us", "bound"), FLOORS)
def test_floor_of_a_batch(
    heads: tuple[int, int], requests: int, width: int, tokens: int, us: float, bound: str
) -> None:
    work = Batch.uniform(heads, requests, width, tokens).work
    assert round(work.floor_us(), 1) == us
    assert work.bound() == bound


def test_floor_is_the_greater_of_memory_and_arithmetic() -> None:
    ceilings = Ceilings(bytes_per_s=2e6, flops_per_s=8e6)
    assert Work(bytes=4, flops=8).floor_us(ceilings) == 2
    assert Work(bytes=4, flops=80).floor_us(ceilings) == 10


def test_grids_hold_what_they_say() -> None:
    batches = grid()
    assert len(set(batches)) == len(batches) == 72
    chosen = representative()
    assert len(set(chosen)) == 24
    assert set(chosen) <= set(batches)
    models = {(one.heads // one.groups, one.size, one.dtype) for one in others()}
    assert {size for _, size, _ in models} == {64, 96, 128, 256}
    assert {1, 16} <= {group for group, _, _ in models}
    assert {dtype for *_, dtype in models} == {"bfloat16", "float16"}
    for batch in ragged():
        assert 256 <= min(batch.lengths) < max(batch.lengths) <= 8192
        assert 128 <= min(batch.widths) < max(batch.widths) <= 512
        assert sum(batch.live) == pytest.approx(0.8 * batch.rows, rel=0.01)
        even = batch.even()
        assert even.work.flops == pytest.approx(batch.work.flops, rel=0.05)
        assert even.live == even.widths


def small() -> Batch:
    return Batch(4, 2, (64, 160), (3, 5), (3, 4))


def exact(one: Inputs, own: int = OWN) -> torch.Tensor:
    """Staged attention of a set with `own` of the own tokens; NaN in dead rows."""
    out = torch.full_like(one.q, math.nan)
    batch, first = one.batch, 0
    for request, (tokens, live) in enumerate(zip(batch.lengths, batch.live, strict=True)):
        begin = int(one.row_start[request])
        for row in range(begin, begin + live):
            k = torch.cat((one.k[first : first + tokens], one.k_own[row, :own])).float()
            v = torch.cat((one.v[first : first + tokens], one.v_own[row, :own])).float()
            for head in range(batch.heads):
                group = head // (batch.heads // batch.groups)
                scores = k[:, group] @ one.q[row, head].float() / math.sqrt(SIZE)
                out[row, head] = scores.softmax(0) @ v[:, group]
        first += tokens
    return out


def test_check_passes_what_is_right_and_finds_a_missing_token() -> None:
    torch.manual_seed(0)
    one = Inputs(small(), device="cpu")
    one.check("right", exact(one))
    with pytest.raises(ValueError, match="short is wrong by"):
        one.check("short", exact(one, own=OWN - 1))
    with pytest.raises(ValueError, match="nothing is wrong"):
        one.check("nothing", torch.full_like(one.q, math.nan))


def test_sets_leave_the_cache() -> None:
    cache = 60 * 2**20
    for touched in (3_000_000, 40_000_000, 10**9):
        assert set_count(touched) * touched > cache
    assert set_count(10**9) == 1


def test_a_graph_holds_every_set_and_is_replayed_within_the_budget() -> None:
    held: list[int] = []
    replays: list[int] = []

    def record(milliseconds: float) -> Callable[[Sequence[Any]], Callable[[int], list[float]]]:
        def graph(calls: Sequence[Any]) -> Callable[[int], list[float]]:
            held[:] = [call() for call in calls]

            def replay(count: int) -> list[float]:
                replays.append(count)
                return [milliseconds] * (count - 1) + [9 * milliseconds]

            return replay

        return graph

    calls = [lambda x=x: x for x in range(6)]
    assert graph_us(calls, record(0.06), budget_ms=1) == pytest.approx(10)
    assert held == list(range(6))
    assert replays[-1] <= MOST_REPLAYS
    graph_us(calls[:1], record(1000.0))
    assert held == [0] * LEAST_CALLS
    assert replays[-1] == 3


def test_summary_of_rows() -> None:
    rows = [
        attention.Row(batch, {"xgr": 2 * floor, "paged": 16 * floor})
        for batch in grid()
        for floor in [batch.work.floor_us()]
    ]
    summary = attention.summarise(rows)
    assert summary["xgr / floor"] == pytest.approx(2)
    assert summary["xgr / floor, B 16"] == pytest.approx(2)
    assert summary["paged / xgr"] == pytest.approx(8)
    assert geomean([1, 4]) == pytest.approx(2)


def test_arguments_choose_batches(capsys: pytest.CaptureFixture[str]) -> None:
    args = attention.parse(["--only", "16/8 B4 .*L8192", "--peers", "flashinfer"])
    assert [str(one) for one in attention.select(args)] == [
        f"16/8 B4 BW{width} L8192" for width in (128, 256, 512)
    ]
    assert args.peers or "FlashInfer is absent" in capsys.readouterr().out
    assert len(attention.select(attention.parse(["--ragged"]))) == 6
    assert len(attention.select(attention.parse(["--batches", "5"]))) == 5
    assert attention.select(attention.parse(["--models"])) == others()
    with pytest.raises(SystemExit):
        attention.parse(["--models", "--peers", "flashinfer"])
    with pytest.raises(SystemExit, match="matches no batch"):
        attention.select(attention.parse(["--only", "B7"]))


@pytest.mark.parametrize(("dtype", "item"), [("bfloat16", 2), ("float32", 4)])
@pytest.mark.parametrize("normalize", ["level", "children", "vocab"])
@pytest.mark.parametrize(("catalogue", "level"), [("none", 1), ("games", 1), ("games", 2)])
def test_levels_hold_the_op_to_topk(
    catalogue: str, level: int, normalize: str, dtype: str, item: int
) -> None:
    rt = runtime("cpu")
    torch.manual_seed(0)
    beams = Beams(rt, Level(2, 6, catalogue, level, normalize, "peaked", dtype), device="cpu")
    one = Set(beams)
    tensors = {k: v for k, v in one.arguments().items() if torch.is_tensor(v)}
    host = {k: v.numpy() for k, v in tensors.items() if v.dtype != torch.bfloat16}
    if dtype == "bfloat16":
        host["logits"] = one.logits.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    rt.beam_step(**{**one.arguments(), **host})
    one.check("xgr")
    if normalize == "level":
        assert beams.work.bytes == 2 * 6 * 8192 * item
    elif catalogue == "games":
        assert beams.legal is not None
        assert beams.work.bytes == (item + 4) * int(beams.legal.sum())
    one.outputs["cumulative_out"][0] += 0.1
    with pytest.raises(ValueError, match="xgr is wrong by"):
        one.check("xgr")


def test_levels_are_of_every_kind() -> None:
    assert len({str(one) for one in levels()}) == 3 * 3 * 8 * 3 * 2
    assert set(swept()) <= set(levels())
    assert not set(levels()) & set(levels("float32"))


def test_floor_of_a_prompt_and_what_its_check_finds() -> None:
    assert prompts.Prompts((1024,)).work.floor_us() == pytest.approx(5.51, abs=0.01)
    torch.manual_seed(0)
    one = prompts.Inputs(prompts.Prompts((40, 24)), device="cpu")
    parts = []
    for begin, end in ((0, 40), (40, 64)):
        q, k, v = (a[begin:end].float().transpose(0, 1) for a in (one.q, one.k, one.v))
        attend = torch.nn.functional.scaled_dot_product_attention
        parts.append(attend(q, k, v, is_causal=True, enable_gqa=True).transpose(0, 1))
    one.check("right", torch.cat(parts))
    with pytest.raises(ValueError, match="swapped is wrong by"):
        one.check("swapped", torch.cat(parts[::-1]))


def test_floor_of_a_reorder() -> None:
    floors = [kv_reorder.work(width).floor_us() for width in kv_reorder.WIDTHS]
    assert floors == pytest.approx([20.5, 41, 82], abs=0.1)
    parent = kv_reorder.parents(128)
    assert bool((parent.diff() >= 0).all())

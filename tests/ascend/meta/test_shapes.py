"""Library kernels on meta tensors: what torch_npu's Meta kernels return fits what is written."""

from __future__ import annotations

from tests.ascend.device import need_torch_npu

need_torch_npu()

from collections.abc import Iterator  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402

from tests.ascend.recorded import FIA, Call, launch, recording, supported  # noqa: E402
from xgr.backends.ascend.kernels import PLAIN  # noqa: E402
from xgr.backends.ascend.stages import STAGE_KERNELS  # noqa: E402

KERNELS = [(k.op, k.name) for k in STAGE_KERNELS if k.name != "ascend.split"] + [
    (op, f"ascend.{technique}") for op, technique in PLAIN.items() if technique == "library"
]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Call]]:
    with recording(monkeypatch) as made:
        yield made


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_every_case_fits(op: str, kernel: str, calls: list[Call]) -> None:
    for case, values in supported(op, kernel):
        launch(kernel, case, values)
    assert calls
    for call in calls:
        given = call.arguments.get("out")
        if given is None:
            continue
        want = [given[0], given[1]] if call.arguments["return_softmax_lse"] else [given[0]]
        for have, need in zip(call.returned, want, strict=False):
            assert (have.shape, have.dtype) == (need.shape, need.dtype), call.name


@pytest.mark.parametrize(
    ("layout", "shape", "lse"),
    [("BSND", (4, 32, 16, 128), (4, 16, 32, 1)), ("TND", (128, 16, 128), (128, 16, 1))],
)
def test_axes_of_the_log_sum_exp(layout: str, shape: tuple[int, ...], lse: tuple[int, ...]) -> None:
    cache = torch.empty(64, 128, 8 * 128, dtype=torch.bfloat16, device="meta")
    table = torch.empty(4, 16, dtype=torch.int32, device="meta")
    packed = {"actual_seq_qlen": [32, 64, 96, 128]} if layout == "TND" else {}
    call = getattr(torch.ops.npu, FIA.partition("::")[2])
    out, found = call(
        torch.empty(shape, dtype=torch.bfloat16, device="meta"), cache, cache,
        actual_seq_kvlen=[100, 200, 300, 400], block_table=table, block_size=128,
        num_query_heads=16, num_key_value_heads=8, input_layout=layout, return_softmax_lse=True,
        **packed,
    )  # fmt: skip
    assert (tuple(out.shape), tuple(found.shape), found.dtype) == (shape, lse, torch.float32)


def test_the_merge_takes_rows_and_heads_as_one_axis() -> None:
    outs = [torch.empty(96, 128, dtype=torch.bfloat16, device="meta") for _ in range(2)]
    lses = [torch.empty(96, device="meta") for _ in range(2)]
    out, lse = torch.ops.npu.npu_attention_update(lses, outs, 1)
    assert (tuple(out.shape), out.dtype, tuple(lse.shape)) == ((96, 128), torch.bfloat16, (96,))

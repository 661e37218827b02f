"""What plans tell of a kernel is what reaches torch's dispatcher, on meta tensors."""

from __future__ import annotations

from tests.ascend.device import need_torch_npu

need_torch_npu()

from collections import Counter  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from tests.ascend.recorded import RT, in_blocks, launch, recording, supported  # noqa: E402
from xgr.backends.ascend.outline import OUTLINES  # noqa: E402
from xgr.ops.spec import Case, Values  # noqa: E402
from xgr.registry.outline import Outline  # noqa: E402

# what changes no memory
VIEWS = {"view", "slice", "select", "unsqueeze", "expand", "t", "transpose", "as_strided", "alias"}
KERNELS = sorted(
    {key for key in OUTLINES if key[1] != "ascend.ascendc"} | {("staged_attention", "ascend.fia")}
)


class Dispatched(TorchDispatchMode):
    """Counts the operators that reach the dispatcher, views aside."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(  # type: ignore[no-untyped-def]
        self, func, types, args=(), kwargs=None
    ) -> Any:
        name = func._schema.name.partition("::")[2]
        if name not in VIEWS:
            self.counts[name] += 1
        return func(*args, **(kwargs or {}))


def examples(op: str, kernel: str) -> Sequence[tuple[Case, Values]]:
    """Cases in 16 bits; of attention those that an engine makes, with equal widths and prompts."""
    if op in {"shared_attention", "staged_attention", "prefill_attention"}:
        found = list(in_blocks(op))
        at = "q_start" if op == "prefill_attention" else "row_start"
        return [
            (c, v) for c, v in found if v["prompt_len"].all() and v[at][1] - v[at][0] in (16, 250)
        ]
    return [
        (c, v)
        for c, v in supported(op, kernel)
        if c.dtype == "bfloat16" and c.flags.get("step", 1) and all(c.sizes.values())
        and c.flags.get("parts", 2) == 2 and not c.flags.get("strided")
    ]  # fmt: skip


def told(outline: Outline) -> Counter[str]:
    counts = Counter(outline.small)
    for one in outline.launches:
        counts[one.call.split()[0].removesuffix(".out")] += one.times
    return counts


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_it_is_what_is_called(op: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = examples(op, kernel)
    assert cases
    with recording(monkeypatch):
        for case, values in cases:
            launch(kernel, case, values)  # reserves its workspace
            seen = Dispatched()
            problem = launch(kernel, case, values, within=seen)
            choice = RT.explain(op, problem, kernel).choice
            assert choice.kernel is not None
            outline = RT.backend.outline(choice.kernel, problem, {})
            assert outline is not None
            if op == "prefill_attention" and case.sizes["d"] == 64:
                continue  # a call a request, as queries differ
            assert told(outline) == seen.counts, case.id

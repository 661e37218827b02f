"""linear_swiglu on the device: every cut of the fused kernel, and more rounds of tiles than one."""

from __future__ import annotations

import pytest
import torch

from tests.tuner.candidates import complaints, problem_of
from xgr.conformance.entries import cases_of
from xgr.ops.spec import Case
from xgr.runtime import Runtime

OP = "linear_swiglu"
CASES = [case for case in cases_of(OP) if not case.flags.get("strided")]


@pytest.fixture(autouse=True)
def hopper(rt: Runtime) -> None:
    if rt.backend.arch != "sm_90":
        pytest.skip("the fused kernel is for sm_90")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_every_cut_conforms(rt: Runtime, case: Case) -> None:
    (kernel,) = (k for k in rt.kernels(OP) if k.name == "cuda.hopper")
    if not kernel.unsupported(problem_of(case), rt.backend.arch):
        wrong = list(complaints(rt, kernel, case))
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("rows", "size", "width"), [(2200, 3072, 1024), (4096, 9728, 200)])
def test_blocks_take_one_tile_after_the_other(
    rt: Runtime, rows: int, size: int, width: int
) -> None:
    """As many rounds of tiles as engines have, the last one in part."""
    torch.manual_seed(0)
    x, weight = (
        torch.randn(n, width, device="cuda", dtype=torch.bfloat16) for n in (rows, 2 * size)
    )
    weight *= width**-0.5
    outs = [torch.empty(rows, size, device="cuda", dtype=x.dtype) for _ in range(2)]
    for kernel, out in zip(("cuda.hopper", "composed"), outs, strict=True):
        arguments = {"x": x, "weight": weight, "out": out, "eps": 1e-6}
        rt.bind(OP, rt.problem(OP, **arguments), kernel)(**arguments)
    torch.testing.assert_close(*outs, rtol=3e-2, atol=3e-2)

"""linear_swiglu on the device: every cut of the fused kernel, and more rounds of tiles than one."""

from __future__ import annotations

import pytest
import torch

from tests.tuner.candidates import complaints, problem_of
from xgr.backends.cuda.kernels import KERNELS
from xgr.backends.cuda.linear_swiglu.tiles import EVERY
from xgr.conformance.entries import cases_of
from xgr.ops.spec import Case
from xgr.registry.bind import BoundContext
from xgr.runtime import Runtime

OP = "linear_swiglu"
(KERNEL,) = (k for k in KERNELS if (k.op, k.name) == (OP, "cuda.hopper"))
CASES = [
    case
    for case in cases_of(OP)
    if not case.flags.get("strided") and not KERNEL.unsupported(problem_of(case), "sm_90")
]


@pytest.fixture(autouse=True)
def hopper(rt: Runtime) -> None:
    if rt.backend.arch != "sm_90":
        pytest.skip("the fused kernel is for sm_90")


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_every_cut_conforms(rt: Runtime, case: Case) -> None:
    wrong = list(complaints(rt, KERNEL, case))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("columns", [tiles.columns for tiles in EVERY])
@pytest.mark.parametrize(("rows", "size", "width"), [(2200, 3072, 1024), (4096, 9728, 200)])
def test_blocks_take_one_tile_after_the_other(
    rt: Runtime, rows: int, size: int, width: int, columns: int
) -> None:
    """As many rounds of tiles as engines have, the last one in part."""
    torch.manual_seed(0)
    x, weight = (
        torch.randn(n, width, device="cuda", dtype=torch.bfloat16) for n in (rows, 2 * size)
    )
    weight *= width**-0.5
    got, want = (torch.empty(rows, size, device="cuda", dtype=x.dtype) for _ in range(2))
    arguments = {"x": x, "weight": weight, "out": want, "eps": 1e-6}
    problem = rt.problem(OP, **arguments)
    rt.bind(OP, problem, "composed")(**arguments)
    launch = KERNEL.build(problem, BoundContext(rt, {"columns": columns}))
    for _ in range(3):
        got.fill_(torch.nan)
        launch(**{**arguments, "out": got})
        torch.testing.assert_close(got, want, rtol=3e-2, atol=3e-2)

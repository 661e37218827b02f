"""The table of chips against what the compiler itself says of each."""

from __future__ import annotations

import re

import pytest

from tests.ascend.triton.compiled.hivm import hivm
from tests.ascend.triton.compiled.posed import launches_of
from tests.ascend.triton.compiled.toolchain import need_toolchain
from xgr.backends.ascend.soc import SOCS
from xgr.ops.spec import Problem

need_toolchain()

# entries of the compiler's specification, and the table's fields; sizes there are in bits
CORES = {"CUBE_CORE_COUNT": "cube_cores", "VECTOR_CORE_COUNT": "vector_cores"}
BYTES = {"UB_SIZE": "ub", "L1_SIZE": "l1", "L0A_SIZE": "l0a", "L0B_SIZE": "l0b", "L0C_SIZE": "l0c"}


@pytest.mark.parametrize("name", SOCS)
def test_figures_are_the_compilers(name: str) -> None:
    problem = Problem.of("merge_attention", "float16", R=8, H=2, d=16)
    (launch,) = launches_of(problem)
    text = hivm(launch.signature, name).text
    told = {key: int(n) for key, n in re.findall(r'dl_entry<"(\w+)", (\d+) : i32>', text)}
    row = SOCS[name]
    assert {f: getattr(row, f) for f in CORES.values()} == {CORES[k]: told[k] for k in CORES}
    assert {f: getattr(row, f) for f in BYTES.values()} == {BYTES[k]: told[k] // 8 for k in BYTES}

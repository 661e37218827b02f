"""The CMake build: what it refuses, and what it asks of an installed CANN."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.ascend.device import need_torch_npu
from tests.ascend.glue.library import configure

need_torch_npu()

# where CANN's toolkit keeps what builds kernels; this one notes how it was called
TOOLKIT = """
function(ascendc_library name kind)
  add_library(${name} INTERFACE)
  file(WRITE ${CMAKE_BINARY_DIR}/asked.txt "${name} ${kind} ${SOC_VERSION} ${RUN_MODE} ${ARGN}")
endfunction()
function(ascendc_include_directories name)
  file(APPEND ${CMAKE_BINARY_DIR}/asked.txt " ${ARGN}")
endfunction()
"""


def without_cann() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "ASCEND_HOME_PATH"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "pass one of -DXGR_ASCEND=ON"),
        (("-DXGR_ASCEND=ON", "-DXGR_ASCEND_EMU=ON"), "pass one of -DXGR_ASCEND=ON"),
        (("-DXGR_ASCEND=ON", "-DSOC_VERSION=Ascend910B3"), "ASCEND_HOME_PATH is not set"),
        (
            ("-DXGR_ASCEND_EMU=ON", "-DPython3_EXECUTABLE=/usr/bin/python3"),
            "pip install torch, or pass -DXGR_ASCEND_OPS=OFF",
        ),
    ],
)
def test_what_is_missing_is_said(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = configure(tmp_path, *options, environment=without_cann())
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def test_a_cann_without_its_toolkit_is_refused(tmp_path: Path) -> None:
    environment = without_cann() | {"ASCEND_HOME_PATH": str(tmp_path)}
    options = ("-DXGR_ASCEND=ON", "-DSOC_VERSION=Ascend910B3")
    done = configure(tmp_path / "build", *options, environment=environment)
    assert done.returncode != 0
    assert "has no ascendc.cmake: install the CANN toolkit" in " ".join(done.stderr.split())


@pytest.mark.parametrize("place", ["tools/tikcpp", "compiler/tikcpp"])
def test_cann_is_asked_for_the_kernels_of_one_device(place: str, tmp_path: Path) -> None:
    toolkit = tmp_path / "cann" / place / "ascendc_kernel_cmake"
    toolkit.mkdir(parents=True)
    (toolkit / "ascendc.cmake").write_text(TOOLKIT)
    environment = without_cann() | {"ASCEND_HOME_PATH": str(tmp_path / "cann")}
    options = ("-DXGR_ASCEND=ON", "-DSOC_VERSION=Ascend910B3")
    done = configure(tmp_path / "build", *options, environment=environment)
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "build" / "asked.txt").read_text()
    assert asked.startswith("xgr_ascend_kernels SHARED Ascend910B3 npu ")
    kernels = re.findall(r"kernels/(\w+)\.cpp", asked)
    assert kernels == ["beam_topk", "kv_reorder", "mask_filter"]

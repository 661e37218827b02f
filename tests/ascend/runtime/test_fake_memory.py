"""Device memory of the fake: poison, red zones, addresses that are none."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import pytest
import torch

from tests.ascend.fake_cann.build import MAIN
from tests.ascend.runtime.fake import NPU, on_npu

POISON = 0x7FFF7FFF


def library() -> Any:
    return ctypes.CDLL(MAIN)


def message() -> str:
    lib = library()
    lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
    found: bytes = lib.aclGetRecentErrMsg()
    return found.decode()


def allocated(size: int) -> ctypes.c_void_p:
    data = ctypes.c_void_p()
    assert library().aclrtMalloc(ctypes.byref(data), ctypes.c_size_t(size), 0) == 0
    return data


def test_fresh_memory_is_no_number_and_no_index() -> None:
    data = allocated(8)
    address = data.value
    assert address is not None
    assert address % 512 == 0
    words = (ctypes.c_int32 * 2).from_address(address)
    assert list(words) == [POISON, POISON]
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert torch.tensor(list(words), dtype=torch.int32).view(dtype).isnan().all()
    assert library().aclrtFree(data) == 0


@pytest.mark.parametrize("offset", [-1, 100])
def test_a_write_beside_an_allocation_is_seen_when_the_host_waits(offset: int) -> None:
    data = allocated(100)
    assert data.value is not None
    beside = ctypes.c_uint8.from_address(data.value + offset)
    kept, beside.value = beside.value, 1
    with pytest.raises(RuntimeError, match="red zone"):
        NPU.synchronize()
    beside.value = kept
    NPU.synchronize()
    assert library().aclrtFree(data) == 0


def test_freed_twice_is_refused() -> None:
    data = allocated(64)
    assert library().aclrtFree(data) == 0
    assert library().aclrtFree(data) != 0
    assert "no live device allocation" in message()


def test_a_copy_from_memory_that_is_not_on_the_device_is_refused() -> None:
    target, host = on_npu(torch.zeros(4)), torch.zeros(4)
    to, source = ctypes.c_void_p(target.data_ptr()), ctypes.c_void_p(host.data_ptr())
    size, device_to_device = ctypes.c_size_t(16), 3
    assert library().aclrtMemcpy(to, size, source, size, device_to_device) != 0
    assert "not on the device" in message()


def test_memory_that_is_asked_for_is_counted() -> None:
    free, total = NPU.mem_get_info()
    data = allocated(1 << 20)
    assert NPU.mem_get_info() == (free - (1 << 20), total)
    assert library().aclrtFree(data) == 0


SOC_PROGRAM = """
import torch, torch_npu
p = torch.npu.get_device_properties(0)
print(p.name, p.cube_core_num, p.vector_core_num)
"""


@pytest.mark.parametrize(
    ("soc", "line"), [("Ascend910B1", "Ascend910B1 24 48"), ("Ascend910B3", "Ascend910B3 20 40")]
)
def test_the_device_is_the_one_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, soc: str, line: str
) -> None:
    monkeypatch.setenv("XGR_FAKE_SOC", soc)
    run = subprocess.run(
        [sys.executable, "-c", SOC_PROGRAM], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines()[-1] == line

"""Arrays of the CUDA backend, on the CPU: what is cast, what is refused, what is shared."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.cuda.interpreter import interpreted, need_interpreter
from xgr.errors import BackendMissing, InputError, OutOfMemory
from xgr.ops.dtype import DTYPES, bfloat16, float16, float32, int32, uint32

need_interpreter()
RT = interpreted()


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_goes_to_the_device_and_back(name: str) -> None:
    host = np.arange(6).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name).reshape(2, 3)
    array: Any = RT.upload(host)
    assert RT.backend.dtype_of(array) is DTYPES[name]
    assert RT.backend.dtype_of(RT.empty((1, 0), DTYPES[name])) is DTYPES[name]
    fetched = RT.fetch(array)
    assert fetched.dtype == host.dtype
    assert fetched.tolist() == host.tolist()
    RT.write(array, host[::-1])
    assert RT.fetch(array).tolist() == host[::-1].tolist()
    assert fetched.tolist() == host.tolist()


def test_uploads_are_copies() -> None:
    host = np.arange(3, dtype=np.int32)
    array = RT.upload(host)
    host[:] = 7
    assert RT.fetch(array).tolist() == [0, 1, 2]


def test_views_are_written_in_place() -> None:
    array: Any = RT.upload([[1, 2], [3, 4], [5, 6]])
    RT.write(array[1:, 0], [8, 9])
    assert RT.fetch(array).tolist() == [[1, 2], [8, 4], [9, 6]]
    assert RT.fetch(array[:, 1]).tolist() == [2, 4, 6]


def test_read_only_and_strided_hosts_are_taken() -> None:
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    host.flags.writeable = False
    array: Any = RT.upload(host.T)
    assert RT.fetch(array).tolist() == host.T.tolist()
    assert array.is_contiguous()
    RT.write(array, host.T + 1)
    assert RT.fetch(array).tolist() == (host.T + 1).tolist()


def test_lists_become_the_short_types() -> None:
    for host, name in (([1, 2], "int32"), ([True], "int32"), ([1, 2.5], "float32")):
        assert RT.backend.dtype_of(RT.upload(host)).name == name
    halfway = [1 + 2**-8, 1 + 3 * 2**-8]
    assert RT.fetch(RT.upload(halfway, bfloat16)).tolist() == [1, 1 + 2**-6]


@pytest.mark.parametrize(
    ("host", "dtype"),
    [([2**31], int32), ([-1], uint32), ([1.5], int32), (["a"], float32), ([[1], [1, 2]], int32)],
)
def test_lossy_casts_are_refused(host: Any, dtype: Any) -> None:
    with pytest.raises(InputError, match="host"):
        RT.upload(host, dtype)
    with pytest.raises(InputError, match=r"host|shape"):
        RT.write(RT.empty((1,), dtype), host)


def test_writes_do_not_broadcast() -> None:
    array = RT.upload([5.0, 6.0], float16)
    with pytest.raises(InputError, match=r"cannot write shape \(1,\) into \(2,\)"):
        RT.write(array, [1.0])
    assert RT.fetch(array).tolist() == [5, 6]


def test_other_types_list_the_known_ones() -> None:
    import torch

    with pytest.raises(ValueError, match=r"dtype 'int8' is not known; known: float64"):
        RT.backend.dtype_of(torch.zeros(1, dtype=torch.int8))


def test_a_device_is_not_the_interpreter() -> None:
    from xgr.backends.cuda.backend import CudaBackend

    with pytest.raises(BackendMissing, match="unset it to run them on a GPU"):
        CudaBackend()
    probe = CudaBackend.probe()
    assert not probe.available
    assert all(reason.hint for reason in probe.reasons)


def test_graphs_of_the_interpreter_are_the_calls() -> None:
    calls: list[int] = []
    graph = RT.capture(lambda: calls.append(1))
    assert calls == []
    graph.replay()
    assert calls == [1]


def test_strides_that_no_kernel_takes_are_refused_by_name() -> None:
    from xgr.ops.spec import Problem

    bound = RT.bind("swiglu", Problem.of("swiglu", "float32", N=4, I=2))
    turned: Any = RT.empty((4, 4), float32)
    with pytest.raises(InputError, match=r"swiglu: gate_up has strides \(1, 4\)"):
        bound(gate_up=turned.t(), out=RT.empty((4, 2), float32))


@pytest.mark.parametrize("shape", [(1 << 45,), (1 << 62, 4), (10**30,)])
def test_memory_that_cannot_be_had_is_said(shape: tuple[int, ...]) -> None:
    with pytest.raises(OutOfMemory, match=r"no room for an array of shape .* in float32"):
        RT.empty(shape, float32)


def test_other_errors_of_torch_are_no_want_of_memory() -> None:
    with pytest.raises(RuntimeError, match="negative dimension"):
        RT.empty((-1,), float32)

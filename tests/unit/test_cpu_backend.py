"""Arrays, copies and threads of the CPU: what is cast, what is refused, what is restored."""

from __future__ import annotations

import time
from array import array as c_array
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import threadpoolctl

from xgr import bfloat16, float16, float32, int32, runtime
from xgr.backends.cpu_ref.backend import CpuBackend
from xgr.backends.host import NUMPY_TYPES
from xgr.errors import InputError, OutOfMemory
from xgr.ops.dtype import DTYPES, DType, float64, int64, uint32
from xgr.runtime import Runtime

RT = runtime("cpu")


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_has_an_array_type_of_its_size(name: str) -> None:
    array: Any = RT.empty((3, 0, 2), DTYPES[name])
    assert array.shape == (3, 0, 2)
    assert array.dtype == NUMPY_TYPES[name]
    assert array.dtype.itemsize == DTYPES[name].itemsize
    assert array.flags.c_contiguous
    assert RT.backend.dtype_of(array) is DTYPES[name]


def test_uploads_and_fetches_are_copies() -> None:
    host = np.arange(6, dtype=np.int32).reshape(2, 3)
    array: Any = RT.upload(host)
    host[:] = -1
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    fetched = RT.fetch(array[:, 1])
    array[:] = 7
    assert fetched.tolist() == [1, 4]


def test_uploads_are_contiguous_whatever_the_host_has() -> None:
    for host in (np.ones((4, 6)).T, np.ones((4, 6))[:, ::2]):
        for dtype in (None, float32, float64):
            assert RT.upload(host, dtype).flags.c_contiguous  # type: ignore[attr-defined]  # np.ndarray's


@pytest.mark.parametrize(
    ("host", "dtype"),
    [
        ([1, 2], "int32"),
        ([True, False], "int32"),
        ([[1, 2.5]], "float32"),
        ([], "float32"),
        ((1, 2), "int32"),
        (range(3), "int32"),
        (np.zeros(2), "float64"),
        (np.zeros(2, np.int64), "int64"),
        (np.zeros(2, ml_dtypes.bfloat16), "bfloat16"),
    ],
)
def test_lists_become_the_short_types_and_arrays_keep_theirs(host: Any, dtype: str) -> None:
    array: Any = RT.upload(host)
    assert array.dtype == NUMPY_TYPES[dtype]
    assert array.tolist() == list(host)


def test_casts_between_floats_round_to_nearest_even() -> None:
    halfway = [1 + 2**-8, 1 + 3 * 2**-8, -(1 + 2**-8)]
    assert RT.fetch(RT.upload(halfway, bfloat16)).tolist() == [1.0, 1 + 2**-6, -1.0]
    array: Any = RT.empty((3,), bfloat16)
    RT.write(array, halfway)
    assert array.tolist() == [1.0, 1 + 2**-6, -1.0]
    assert RT.fetch(RT.upload(np.array([1, 2]), float16)).tolist() == [1.0, 2.0]
    odd: Any = RT.upload([float("-inf"), float("nan")], bfloat16)
    assert odd[0] == -np.inf
    assert np.isnan(odd[1])


INTS: list[tuple[Any, Any]] = [
    ([2**31], int32), ([-(2**31) - 1], int32), (np.array([2**40]), int32), ([-1], uint32),
    ([2**32], uint32), (np.array([-5], np.int32), uint32), (np.array([2**31], np.uint32), int32),
    (np.array([2**63], np.uint64), int64), ([2**31], None),
]  # fmt: skip


@pytest.mark.parametrize(("host", "dtype"), INTS)
def test_integers_are_not_wrapped(host: Any, dtype: Any) -> None:
    with pytest.raises(InputError, match=r"host values are .* holds -?\d+ to \d+"):
        RT.upload(host, dtype)
    with pytest.raises(InputError, match=r"host values are .* holds -?\d+ to \d+"):
        RT.write(RT.empty((1,), dtype or int32), host)


def test_the_extreme_integers_fit() -> None:
    ends = [-(2**31), 2**31 - 1]
    assert RT.fetch(RT.upload(ends)).tolist() == ends
    assert RT.fetch(RT.upload(np.array(ends), int32)).tolist() == ends
    assert RT.fetch(RT.upload([2**32 - 1], uint32)).tolist() == [2**32 - 1]


@pytest.mark.parametrize("host", [[1.0], [1.5], [float("nan")], np.ones(1, np.float32)])
def test_floats_are_not_cut_to_integers(host: Any) -> None:
    with pytest.raises(InputError, match=r"host values are float.*, the array holds int32"):
        RT.upload(host, int32)
    with pytest.raises(InputError, match=r"host values are float.*, the array holds int32"):
        RT.write(RT.empty((1,), int32), host)


def test_an_empty_list_is_of_any_dtype() -> None:
    assert RT.fetch(RT.upload([], int32)).dtype == np.int32
    RT.write(RT.empty((0,), int32), [])


@pytest.mark.parametrize("host", [["a"], "text", [None], [1j], [object()], [10**30]])
def test_values_that_are_no_numbers_are_refused(host: Any) -> None:
    for dtype in (None, float32, int32):
        with pytest.raises(InputError, match="host values are"):
            RT.upload(host, dtype)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.bool_, np.complex64])
def test_arrays_of_other_types_need_a_dtype(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"dtype '\w+' is not known; known: float64, float32"):
        RT.upload(np.zeros(2, kind))


def test_ragged_lists_are_refused() -> None:
    for host in ([[1], [1, 2]], [1, [2]]):
        with pytest.raises(InputError, match="ragged host sequence"):
            RT.upload(host)
        with pytest.raises(InputError, match="ragged host sequence"):
            RT.write(RT.empty((2,), int32), host)


@pytest.mark.parametrize("host", [1, [1], [1, 2, 3], [[1, 2]], [[1], [2]]])
def test_writes_do_not_broadcast(host: Any) -> None:
    array = RT.upload([5, 6])
    with pytest.raises(InputError, match=r"cannot write shape \(.*\) into \(2,\)"):
        RT.write(array, host)
    assert RT.fetch(array).tolist() == [5, 6]


def test_a_writer_writes_the_first_elements_time_after_time() -> None:
    target = RT.upload([9, 9, 9, 9])
    write = RT.writer(target)
    write([1, 2, 3])
    assert RT.fetch(target).tolist() == [1, 2, 3, 9]
    write(memoryview(c_array("i", [5, 6])))
    assert RT.fetch(target).tolist() == [5, 6, 3, 9]
    with pytest.raises(InputError):
        write([1.5])


def test_views_are_written_in_place() -> None:
    array = RT.upload([[1, 2], [3, 4], [5, 6]])
    RT.write(array[1:, 0], [8, 9])
    RT.write(array.reshape((6,))[:1], [7])
    assert RT.fetch(array).tolist() == [[7, 2], [8, 4], [9, 6]]


def blas() -> list[int]:
    return [
        lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"
    ]


def test_lanes_divide_the_blas_threads_and_give_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = CpuBackend()
    monkeypatch.setattr(CpuBackend, "cores", 4)
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        before = blas()
        assert before
        for count, each in ((1, 4), (2, 2), (3, 1), (9, 1)):
            with backend.lanes(count):
                assert set(blas()) == {each}
            assert blas() == before
        with pytest.raises(RuntimeError, match="in a lane"), backend.lanes(2):
            raise RuntimeError("in a lane")
        assert blas() == before


def test_lanes_that_overlap_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins and ends in a thread of its own that lives on: limits of threads do not nest."""
    monkeypatch.setattr(CpuBackend, "cores", 12)
    owners = [(CpuBackend().lanes(count), ThreadPoolExecutor(1)) for count in (2, 1, 3)]
    before = blas()

    def enter(at: int) -> set[int]:
        lanes, thread = owners[at]
        thread.submit(lanes.__enter__).result()
        return set(blas())

    def leave(at: int) -> set[int]:
        lanes, thread = owners[at]
        thread.submit(lanes.__exit__, None, None, None).result()
        return set(blas())

    assert [enter(0), enter(1), leave(0), enter(2), leave(1)] == [{6}, {4}, {12}, {3}, {4}]
    leave(2)
    assert blas() == before
    for _, thread in owners:
        thread.shutdown()


def test_launches_are_done_when_they_return(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    graph = RT.capture(lambda: calls.append(1))
    assert calls == []
    graph.replay()
    graph.replay()
    assert calls == [1, 1]
    clock = iter([10.0, 10.25])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    first, second = RT.event(), RT.event()
    with RT.stream() as stream:
        first.record(stream)
        second.record(stream)
        stream.wait(first)
        stream.synchronize()
    second.synchronize()
    RT.synchronize()
    assert (second.elapsed_ms(first), first.elapsed_ms(second)) == (250, -250)


def test_memory_is_bytes_and_grows_with_what_is_held() -> None:
    before = RT.memory()
    # larger than the allocator ever keeps for reuse: what is freed before must not count for it
    held = np.ones(256 << 20, np.uint8)
    after = RT.memory()
    assert after.used - before.used > held.nbytes // 2
    assert after.used > 10 << 20
    assert after.peak >= after.used
    del held
    assert RT.memory().peak > 256 << 20  # what was held stays counted
    assert 0 < after.free < 1 << 50


def test_the_probe_says_what_serves() -> None:
    probe = CpuBackend.probe()
    assert probe.available
    assert probe.summary.startswith(f"NumPy {np.__version__}, ")
    assert CpuBackend().cores >= 1


@pytest.mark.parametrize("shape", [(1 << 50,), (1 << 62, 4), (10**30,)])
def test_memory_that_cannot_be_had_is_said(shape: tuple[int, ...]) -> None:
    with pytest.raises(OutOfMemory, match=r"cpu has no room for an array of shape .* in float32"):
        RT.empty(shape, float32)


def test_a_wrong_shape_is_no_want_of_memory() -> None:
    with pytest.raises(ValueError, match="negative dimensions"):
        RT.empty((-1,), float32)


@pytest.mark.parametrize(
    ("host", "shape"), [(3, r"\(\)"), ([1, 2], r"\(2,\)"), (np.zeros((2, 3)), r"\(2, 3\)")]
)
def test_so_is_a_copy_that_has_no_room(host: Any, shape: str) -> None:
    class Full(CpuBackend):
        def upload(self, host: Any, dtype: DType | None = None) -> Any:
            raise MemoryError("it is full")

    with pytest.raises(OutOfMemory, match=rf"an array of shape {shape} in .* \(it is full\)"):
        Runtime("cpu", Full()).upload(host)

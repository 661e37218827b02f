"""What single functions of the emulator compute, against NumPy."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ascend.emulator.built import HERE, compiled, need_compiler

need_compiler()

Array = NDArray[Any]
COUNT, BYTES = 128, 2048


@functools.cache
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(compiled("functions", [HERE / "functions.cpp"])))
    loaded.function_run.restype = ctypes.c_char_p
    return loaded


def run(name: str, a: Array, b: Array) -> Array:
    """The destination's bytes."""
    given = [np.zeros(BYTES, np.uint8) for _ in range(2)]
    for room, value in zip(given, (a, b), strict=True):
        room[: value.nbytes] = value.view(np.uint8).ravel()
    out = np.zeros(BYTES, np.uint8)
    message = library().function_run(
        name.encode(), *(ctypes.c_void_p(x.ctypes.data) for x in (*given, out))
    )
    assert not message, message
    return out


def numbers(kind: Any) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    if np.dtype(kind).kind in "iu":
        a, b = rng.integers(-100 if np.dtype(kind).kind == "i" else 0, 100, (2, COUNT))
        return a.astype(kind), b.astype(kind)
    return (4 * rng.standard_normal(COUNT)).astype(kind), (1 + rng.random(COUNT)).astype(kind)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Max": np.maximum,
    "Min": np.minimum,
    "Adds": lambda a, _: a + a.dtype.type(3),
    "Muls": lambda a, _: a * a.dtype.type(3),
    "Maxs": lambda a, _: np.maximum(a, a.dtype.type(3)),
    "Mins": lambda a, _: np.minimum(a, a.dtype.type(3)),
    "CreateVecIndex": lambda a, _: np.arange(5, 5 + COUNT).astype(a.dtype),
    "Duplicate": lambda a, _: np.full(COUNT, 7, a.dtype),
}
OTHERS: dict[str, Callable[[Array, Array], Array]] = {
    "Div float32": np.divide,
    "Abs float32": lambda a, _: np.abs(a),
    "And int16": np.bitwise_and,
    "Or int16": np.bitwise_or,
    "Not int16": lambda a, _: np.invert(a),
    "ShiftLeft int32": lambda a, _: a << 2,
    "ShiftRight int32": lambda a, _: a >> 2,
    "ShiftRight uint32": lambda a, _: a >> np.uint32(2),
    "Compare float32": lambda a, b: np.packbits(a <= b, bitorder="little"),
    "Cast float16 float32": lambda a, _: a.astype(np.float32),
    "Cast bfloat16 float32": lambda a, _: a.astype(np.float32),
    "Cast float32 int32": lambda a, _: np.rint(a).astype(np.int32),
    "ReduceMax float32": lambda a, _: a.max(keepdims=True),
}


def kind_of(name: str) -> Any:
    kind = name.split()[1]
    return ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind).type


@pytest.mark.parametrize("kind", ["float32", "float16", "int32", "int16"])
@pytest.mark.parametrize("name", BINARY)
def test_elementwise(name: str, kind: str) -> None:
    a, b = numbers(kind)
    want = BINARY[name](a, b)
    got = run(f"{name} {kind}", a, b)[: want.nbytes].view(want.dtype)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name: str) -> None:
    a, b = numbers(kind_of(name))
    want = OTHERS[name](a, b)
    got = run(name, a, b)[: want.nbytes].view(want.dtype)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("Exp float32", lambda a, b: np.exp(a)),
        ("Ln float32", lambda a, b: np.log(b)),
        ("ReduceSum float32", lambda a, b: a.sum(keepdims=True)),
    ],
)
def test_rounded_functions(name: str, want: Callable[[Array, Array], Array]) -> None:
    a, b = numbers(np.float32)
    expected = want(a, b)
    got = run(name, a, b)[: expected.nbytes].view(np.float32)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_repeats_take_lanes_and_strides() -> None:
    a, b = numbers(np.float32)
    got = run("Add repeated float32", a, b).view(np.float32)
    want = np.zeros(BYTES // 4, np.float32)
    for repeat in range(2):
        for lane in range(48):
            place = (repeat * 16 + lane // 8 * 2) * 8 + lane % 8
            want[place] = a[repeat * 64 + lane] + b[repeat * 64 + lane]
    np.testing.assert_array_equal(got, want)


def test_masks_are_lanes_bit_by_bit() -> None:
    a, b = numbers(np.float32)
    got = run("Duplicate repeated float32", a, b).view(np.float32)
    assert np.flatnonzero(got == 9).tolist() == [1, 34, 65, 98]


@pytest.mark.parametrize(
    ("pattern", "taken"),
    list(enumerate([(0, 2), (1, 3), (0,), (1,), (2,), (3,), (0, 1, 2, 3)], 1)),
)
def test_patterns_of_gathering(pattern: int, taken: tuple[int, ...]) -> None:
    """Each fourth element is a lane of its own in the reference."""
    a, b = numbers(np.float32)
    want = a[np.isin(np.arange(COUNT) % 4, taken)]
    got = run(f"GatherMask {pattern}", a, b).view(np.float32)
    np.testing.assert_array_equal(got[: len(want)], want)


def test_padded_copies_begin_blocks() -> None:
    """Three blocks of five numbers, two apart, each padded by three, 32 bytes between them."""
    a, b = numbers(np.float32)
    got = run("DataCopyPad float32", a, b).view(np.float32)
    want = np.zeros(BYTES // 4, np.float32)
    for block in range(3):
        want[block * 16 : block * 16 + 5] = a[block * 7 : block * 7 + 5]
        want[block * 16 + 5 : block * 16 + 8] = -1
    np.testing.assert_array_equal(got, want)

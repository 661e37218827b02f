"""Arrays without values: shapes as NumPy's, and every way to a value is an error."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import xgr
from xgr import bfloat16, float32, int32
from xgr.backends.null.array import NullArray
from xgr.backends.null.backend import NullBackend
from xgr.errors import InputError, ValueReadError
from xgr.ops import spec, specs
from xgr.runtime import Runtime

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@pytest.fixture
def rt() -> Runtime:
    return Runtime("null", NullBackend())


def outcome(array: Any, ask: Callable[[Any], Any]) -> Any:
    """The shape that comes out, or that something is refused."""
    try:
        return ask(array).shape
    except (IndexError, ValueError):
        return "refused"


@given(st.data())
def test_slicing_gives_numpys_shapes(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    key = data.draw(
        hnp.basic_indices(shape, min_dims=0, max_dims=6, allow_newaxis=True, allow_ellipsis=True)
    )
    array = NullArray(shape, int32)
    # NumPy gives a scalar where every axis is picked: its shape is () too
    assert array[key].shape == np.empty(shape)[key].shape
    assert array[key].dtype is int32


ITEM = st.one_of(st.integers(-5, 5), st.slices(4), st.none(), st.just(Ellipsis))


@given(SHAPES, st.lists(ITEM, max_size=5).map(tuple))
def test_what_numpy_refuses_to_slice_is_refused(shape: tuple[int, ...], key: Any) -> None:
    theirs = outcome(np.empty(shape), lambda a: a[key])
    assert outcome(NullArray(shape, int32), lambda a: a[key]) == theirs


@given(SHAPES, st.lists(st.integers(-2, 6), max_size=4))
def test_reshaping_gives_numpys_shapes(shape: tuple[int, ...], sizes: list[int]) -> None:
    theirs = outcome(np.empty(shape), lambda a: a.reshape(sizes))
    if -2 in sizes:
        theirs = "refused"  # NumPy takes any negative size for the open one
    assert outcome(NullArray(shape, int32), lambda a: a.reshape(sizes)) == theirs


@given(SHAPES, st.data())
def test_a_shape_of_as_many_elements_is_taken(shape: tuple[int, ...], data: st.DataObject) -> None:
    sizes = list(data.draw(st.permutations(shape)))
    if sizes and 0 not in sizes:
        sizes[data.draw(st.integers(0, len(sizes) - 1))] = -1
    array = NullArray(shape, float32)
    assert array.reshape(sizes).shape == np.empty(shape).reshape(sizes).shape
    assert array.reshape(tuple(sizes)).dtype is float32


def test_one_number_is_a_shape_to_reshape_to() -> None:
    assert NullArray((2, 3), int32).reshape(-1).shape == (6,)
    assert NullArray((2, 3), int32).reshape(6).shape == (6,)


@pytest.mark.parametrize("key", [True, 1.0, [0, 1], "a", (0, [1]), np.array([0, 1])])
def test_other_indices_than_basic_ones_are_refused(key: Any) -> None:
    with pytest.raises((IndexError, TypeError)):
        NullArray((3, 3), int32)[key]


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (2.0,)])
def test_arrays_have_shapes_of_counts(shape: Any, rt: Runtime) -> None:
    with pytest.raises((ValueError, TypeError)):
        rt.empty(shape, int32)
    assert rt.memory().used == 0


BINARY = ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "matmul")


def with_itself(name: str, array: Any) -> object:
    return getattr(operator, name)(array, array)


READS: dict[str, Callable[[Any], object]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "range": range,
    "list": list,
    "iter": iter,
    "len": len,
    "in": lambda a: 1 in a,
    "sum": sum,
    "max": max,
    "if": lambda a: 1 if a else 0,
    "not": operator.not_,
    "slice": lambda a: [1, 2, 3][:a],
    "slice of an array": lambda a: NullArray((3,), int32)[a:],
    "index of an array": lambda a: NullArray((3,), int32)[a],
    "numpy": np.asarray,
    "numpy list": lambda a: np.array([a, a]),
    "numpy ufunc": np.exp,
    "numpy left": lambda a: np.ones(2) + a,
    **{name: partial(getattr(operator, name), 1) for name in BINARY},
    **{f"{name} with itself": partial(with_itself, name) for name in BINARY},
    **{name: getattr(operator, name) for name in ("neg", "abs", "invert")},
    "tolist": lambda a: a.tolist(),
    "item": lambda a: a.item(),
    "bytes": lambda a: a.tobytes(),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_every_way_of_reading_a_value_is_an_error(read: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueReadError, match=r"a value of a null array of shape \("):
        READS[read](NullArray(shape, int32))


def set_item(array: Any) -> None:
    array[0] = 1


@pytest.mark.parametrize("use", [hash, set_item, memoryview, lambda a: a**2, lambda a: a % 2])
def test_and_the_rest_is_no_operation_of_an_array(use: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        use(NullArray((2,), int32))


def test_printing_and_copying_read_nothing() -> None:
    array = NullArray((2, 3), bfloat16)
    assert repr(array) == "NullArray(shape=(2, 3), dtype=bfloat16)"
    assert pickle.loads(pickle.dumps(array)).shape == (2, 3)


def test_nothing_can_be_fetched_or_copied_from(rt: Runtime) -> None:
    array = rt.empty((2,), int32)
    with pytest.raises(ValueReadError, match=r"NullArray\(shape=\(2,\).* has no values to fetch"):
        rt.fetch(array)
    with pytest.raises(ValueReadError, match="no values to copy from"):
        rt.write(rt.empty((2,), int32), array)
    with pytest.raises(ValueReadError, match="no values to copy from"):
        rt.upload([array, array])


@pytest.mark.parametrize(
    ("host", "shape"),
    [(3, ()), ([], (0,)), ([[], []], (2, 0)), (range(4), (4,)), (((1,), (2,)), (2, 1))],
)
def test_host_sequences_have_numpys_shapes(host: Any, shape: tuple[int, ...], rt: Runtime) -> None:
    assert rt.upload(host).shape == shape == np.shape(host)
    rt.write(rt.empty(shape, int32), host)
    with pytest.raises(InputError, match="cannot write shape"):
        rt.write(rt.empty((*shape, 1), int32), host)


@pytest.mark.parametrize("host", [[[1], [1, 2]], [1, [2]], [[1, 2], []], [[[1]], [[1], [2]]]])
def test_ragged_lists_are_refused(host: Any, rt: Runtime) -> None:
    with pytest.raises(InputError, match="ragged host sequence"):
        rt.upload(host)


@pytest.mark.parametrize("host", ["ab", ["a"], None, [None], {1: 2}, {3}, (n for n in (1, 2))])
def test_other_host_values_are_refused(host: Any, rt: Runtime) -> None:
    with pytest.raises(InputError, match="need numbers, their lists or arrays"):
        rt.upload(host)
    with pytest.raises(InputError, match="need numbers, their lists or arrays"):
        rt.write(rt.empty((2,), int32), host)


def test_only_null_arrays_are_written_to(rt: Runtime) -> None:
    with pytest.raises(InputError, match="cannot write into a ndarray, need a NullArray"):
        rt.write(np.zeros(2, np.int32), [1, 2])


HOSTS: list[Any] = [
    [], [[]], [1, 2], [True], [1, 2.5], [2.5, 1], [[1], [2.0]], 3, 3.0, [np.int64(3)],
    np.zeros(2, np.int64), np.zeros(2, np.uint32), np.zeros(2), np.float32(1),
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS, ids=repr)
def test_dtypes_are_those_of_the_cpu(host: Any, rt: Runtime) -> None:
    cpu = xgr.runtime("cpu")
    theirs = cpu.upload(host)
    assert rt.upload(host).dtype is cpu.backend.dtype_of(theirs)  # type: ignore[attr-defined]  # the array protocol has no dtype
    assert rt.upload(host).shape == theirs.shape
    assert rt.backend.dtype_of(rt.upload(host, bfloat16)) is bfloat16


def test_memory_counts_what_was_asked_for(rt: Runtime) -> None:
    rt.empty((2, 3), bfloat16)
    rt.upload([1, 2, 3])
    assert rt.memory().used == 2 * 3 * 2 + 3 * 4


def operands(rt: Runtime, op: str) -> dict[str, Any]:
    """Arguments of an op with every axis 2, all optional arrays given, model dtype bfloat16."""
    declared = spec(op)
    sizes = dict.fromkeys(declared.axes, 2)
    out: dict[str, Any] = {s.name: s.choices[0] if s.choices else 0 for s in declared.scalars}
    out |= {s.name: False for s in declared.scalars if s.type == "bool"}
    for arg in declared.args:
        kind = bfloat16 if arg.dtype == "model" else xgr.ops.dtype.dtype(arg.dtype)
        array = object() if arg.struct else rt.empty(declared.shape(arg, sizes), kind)
        out[arg.name] = [array, array] if arg.many else array
    return out


@pytest.mark.parametrize("op", sorted(specs()))
def test_every_op_launches_and_checks_each_of_its_arrays(op: str, rt: Runtime) -> None:
    good = operands(rt, op)
    bound = rt.bind(op, rt.problem(op, **good))
    bound(**good)
    getattr(rt, op)(**good)
    for arg in (a for a in spec(op).args if not a.struct):
        many = arg.many
        array = good[arg.name][0] if many else good[arg.name]
        foreign = np.empty(array.shape, np.float32)
        flat = NullArray((*array.shape, 1), array.dtype)
        for wrong in (NullArray(array.shape, xgr.ops.dtype.int64), foreign, flat):
            bad = [array, wrong] if many else wrong
            with pytest.raises(InputError, match=f"{op}: {arg.name}"):
                bound(**good | {arg.name: bad})
    with pytest.raises(InputError, match=r"unknown arguments \['extra'\]"):
        bound(**good, extra=1)


def test_a_launch_of_another_problem_is_an_error(rt: Runtime) -> None:
    good = operands(rt, "swiglu")
    bound = rt.bind("swiglu", rt.problem("swiglu", **good))
    longer = {"gate_up": rt.empty((3, 4), bfloat16), "out": rt.empty((3, 2), bfloat16)}
    with pytest.raises(InputError, match=r"bound for swiglu\[.*N=2.*launched with swiglu\[.*N=3"):
        bound(**good | longer)


def test_a_graph_launches_again_and_streams_are_in_order(rt: Runtime) -> None:
    calls: list[int] = []
    graph = rt.capture(lambda: calls.append(1))
    before = len(calls)
    graph.replay()
    graph.replay()
    assert len(calls) == before + 2
    first, second = rt.event(), rt.event()
    with rt.stream() as stream:
        first.record(stream)
        second.record(stream)
        stream.wait(first)
        stream.synchronize()
    second.synchronize()
    rt.synchronize()
    assert second.elapsed_ms(first) == 0

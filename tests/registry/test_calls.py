"""bind and calls by name: what they keep, what they refuse, and that calls are not confused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.registry.kernels import Spy, arguments, cpu, kernel, nothing, null, sort, staged
from xgr import Problem, bfloat16, float16, float32, int32, runtime
from xgr.errors import InputError, Unsupported
from xgr.ops import specs
from xgr.ops.array import Filters, Trie, TrieLevel
from xgr.registry import Context, Launcher
from xgr.registry.convenience import CAPACITY
from xgr.runtime import KEPT, Runtime


def watched() -> tuple[Runtime, Spy]:
    """A runtime whose beam_sort does nothing and notes its builds."""
    rt, spy = cpu(), Spy()
    rt.register(kernel("beam_sort", "tests.spy", factory=spy, priority=99))
    return rt, spy


def test_a_device_has_one_runtime_however_it_is_named() -> None:
    assert runtime() is runtime("cpu") is runtime(device="cpu")
    assert runtime("null") is not runtime("cpu")


def test_bind_builds_a_problem_once_for_each_forced_kernel() -> None:
    rt, spy = watched()
    first = rt.bind("beam_sort", sort())
    assert rt.bind("beam_sort", sort()) is first
    assert rt.bind("beam_sort", sort(), "tests.spy") is not first
    assert rt.bind("beam_sort", sort(9)) is not first
    assert spy.problems == [sort(), sort(), sort(9)]


def test_registering_a_kernel_drops_what_was_bound() -> None:
    rt, spy = watched()
    given = arguments(rt)
    rt.bind("beam_sort", sort())
    rt.beam_sort(**given)
    calls: list[str] = []
    late = kernel("beam_sort", "tests.late", priority=100, factory=lambda p, c: note)

    def note(**given: Any) -> None:
        calls.append("late")

    rt.register(late)
    rt.beam_sort(**given)
    assert rt.bind("beam_sort", sort()).choice.kernel is late
    assert (calls, len(spy.problems)) == (["late"], 1)


def test_what_a_long_process_keeps_is_bounded_and_the_oldest_leaves() -> None:
    rt, spy = watched()
    for columns in range(1, KEPT + 1):
        rt.bind("beam_sort", sort(columns))
    rt.bind("beam_sort", sort(1))  # used again: the second is the oldest now
    rt.bind("beam_sort", sort(KEPT + 1))
    assert len(rt._bound) == KEPT
    del spy.problems[:]
    rt.bind("beam_sort", sort(1))
    rt.bind("beam_sort", sort(3))
    assert spy.problems == []
    rt.bind("beam_sort", sort(2))
    assert spy.problems == [sort(2)]


def test_calls_by_name_keep_a_bounded_number_too() -> None:
    rt, _ = watched()
    kept_first = arguments(rt, 1)
    for columns in range(1, 3 * CAPACITY):
        rt.beam_sort(**arguments(rt, columns))
        rt.beam_sort(**kept_first)
    (kept,) = rt._quick
    assert len(kept) == CAPACITY
    newest = max(kept.values(), key=lambda entry: entry.at)
    assert newest.value.choice.problem == sort(1)


def test_plan_reaches_the_launcher_and_is_ignored_by_others() -> None:
    seen: list[tuple[Sequence[int], ...]] = []

    class Planned:
        def plan(self, *hosts: Sequence[int]) -> None:
            seen.append(hosts)

        def __call__(self, **given: Any) -> None:
            return

    rt = cpu()
    rt.register(kernel("beam_sort", "tests.planned", factory=lambda p, c: Planned()))
    rt.bind("beam_sort", sort(), "tests.planned").plan([0], [7], [4])
    rt.bind("beam_sort", sort(), "cpu_ref.fast").plan([0], [7], [4])
    assert seen == [([0], [7], [4])]


def test_a_composition_plans_its_shared_stage() -> None:
    seen: list[Sequence[int]] = []

    def build(problem: Problem, context: Context) -> Launcher:
        def launch(**given: Any) -> None:
            return

        launch.plan = lambda start, length, widths: seen.append(length)  # type: ignore[attr-defined]  # how a function launcher takes plans
        return launch

    rt = cpu()
    rt.register(kernel("shared_attention", "tests.shared", factory=build, priority=99))
    rt.bind("staged_attention", staged(8000)).plan([0], [7], [4])
    assert seen == [[7]]


def test_a_lane_shares_kernels_settings_and_device_and_no_bound_op(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []

    def build(problem: Problem, context: Context) -> Launcher:
        made.append(context.empty((4,), float32))
        return nothing

    rt = cpu()
    rt.register(kernel("beam_sort", "tests.work", factory=build, priority=99))
    given = arguments(rt)
    rt.beam_sort(**given)
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=cpu_ref.fast")  # settings are those of its runtime
    lane = rt.lane()
    lane.beam_sort(**given)
    assert len(made) == 2
    assert lane.bind("beam_sort", sort()) is not rt.bind("beam_sort", sort())
    assert len(made) == 2
    assert not np.shares_memory(*made)
    assert lane.kernels("beam_sort") == rt.kernels("beam_sort")
    assert (lane.backend, lane.device) == (rt.backend, rt.device)
    lane.register(kernel("beam_sort", "tests.own"))
    assert "tests.own" not in {k.name for k in rt.kernels("beam_sort")}
    kept = rt.bind("beam_sort", sort())
    assert kept is rt.bind("beam_sort", sort())


def test_unknown_ops_list_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no op 'beam_sotr'; ops: .*beam_sort"):
        cpu().beam_sotr()
    with pytest.raises(InputError, match="op 'beam_sotr' is not declared"):
        cpu().problem("beam_sotr")


Change = dict[str, Any]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "best"}, "order='best', allowed: path, rank"),
        ({"order": ["path"]}, r"order=\['path'\], allowed: path, rank"),
        ({"width": 3}, r"unknown arguments \['width'\].*the op is beam_sort\("),
        ({"scores": None}, r"missing arguments \['scores'\]"),
        ({"scores": [[1.0] * 8] * 4}, "scores is of type list, need an array"),
        ({"scores": np.zeros((4, 8, 1), np.float32)}, r"shape \[4, 8, 1\], need \[R, C\]"),
        ({"scores": np.zeros((4, 8))}, "scores is float64, need float32"),
        ({"scores": np.zeros((4, 8), np.int8)}, "scores: dtype 'int8' is not known; known: f"),
        ({"cumulative": np.zeros(3, np.float32)}, "axis R is 3 in cumulative and 4 in scores"),
        ({"row_start": np.zeros(3, np.int32)}, r"row_start has shape \[3\], need \[2\]"),
        ({"live": np.zeros(1, np.int64)}, "live is int64, need int32"),
        ({"code": np.zeros(4, np.float32)}, "code is float32, need int32"),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_wrong_arguments_are_named_on_the_first_call_and_later(
    change: Change, message: str, again: bool
) -> None:
    rt = cpu()
    given = arguments(rt)
    if again:
        rt.beam_sort(**given)
    with pytest.raises(InputError, match=message):
        rt.beam_sort(**given | change)
    with pytest.raises(InputError, match=message):
        rt.problem("beam_sort", **given | change)


@pytest.mark.parametrize("again", [False, True])
def test_missing_arguments_are_named(again: bool) -> None:
    rt = cpu()
    for name in arguments(rt):
        given = arguments(rt)
        if again:
            rt.beam_sort(**given)
        del given[name]
        with pytest.raises(InputError, match=rf"missing arguments \['{name}'\]"):
            rt.beam_sort(**given)
    norm = {"x": rt.empty((2, 8), float32), "out": rt.empty((2, 8), float32)}
    norm["weight"] = rt.empty((8,), float32)
    rt.rms_norm(**norm, eps=1e-6)
    with pytest.raises(InputError, match=r"missing arguments \['eps'\]"):
        rt.rms_norm(**norm)


def test_a_kernels_own_type_error_is_its_own() -> None:
    def launch(**given: Any) -> None:
        raise TypeError("of the kernel")

    rt = cpu()
    rt.register(kernel("beam_sort", "tests.bad", factory=lambda p, c: launch, priority=99))
    with pytest.raises(TypeError, match="of the kernel"):
        rt.beam_sort(**arguments(rt))


def test_a_call_can_force_its_kernel() -> None:
    rt, spy = watched()
    given = arguments(rt)
    rt.beam_sort(**given, kernel="cpu_ref.fast")
    assert spy.problems == []
    assert given["code"].tolist() == [4, 5, 6, 7]
    with pytest.raises(Unsupported, match="is no kernel of beam_sort"):
        rt.beam_sort(**given, kernel="tests.gone")


def test_one_model_dtype_a_call() -> None:
    rt = null()
    x, out = rt.empty((2, 8), bfloat16), rt.empty((2, 8), bfloat16)
    rt.rms_norm(x=x, weight=rt.empty((8,), bfloat16), out=out, eps=1e-6)
    with pytest.raises(InputError, match="weight is float32, need bfloat16"):
        rt.rms_norm(x=x, weight=rt.empty((8,), float32), out=out, eps=1e-6)
    with pytest.raises(InputError, match="x is int32, allowed: float32, bfloat16, float16"):
        rt.problem("rms_norm", x=rt.empty((2, 8), int32), weight=x[0], out=out, eps=1.0)


def test_calls_that_differ_in_dtype_alone_are_not_confused() -> None:
    rt, spy = cpu(), Spy()
    rt.register(kernel("merge_attention", "tests.spy", factory=spy, priority=99))
    for kind in (float32, float16, float32):
        parts = [rt.empty((2, 1, 4), kind)] * 2
        lses = [rt.empty((2, 1), float32)] * 2
        rt.merge_attention(outs=parts, lses=lses, out=parts[0], lse=lses[0])
    assert [p.dtype for p in spy.problems] == ["float32", "float16"]


@pytest.mark.parametrize("outs", [[], None, 7])
def test_lists_of_arrays_hold_arrays(outs: Any) -> None:
    rt = null()
    out, lse = rt.empty((2, 1, 4), float32), rt.empty((2, 1), float32)
    with pytest.raises(InputError, match="outs"):
        rt.merge_attention(outs=outs, lses=[lse], out=out, lse=lse)


def test_every_array_of_a_list_is_checked_on_every_call() -> None:
    rt = cpu()
    out, lse = rt.empty((2, 1, 4), float32), rt.empty((2, 1), float32)
    rt.merge_attention(outs=[out, out], lses=[lse, lse], out=out, lse=lse)
    narrow = rt.empty((1, 1, 4), float32)  # NumPy would broadcast it
    with pytest.raises(InputError, match="axis R is 1 in outs and 2 in outs"):
        rt.merge_attention(outs=[out, narrow], lses=[lse, lse], out=out, lse=lse)
    with pytest.raises(InputError, match="outs is of type float, need an array"):
        rt.merge_attention(outs=[out, 1.0], lses=[lse, lse], out=out, lse=lse)


def test_calls_with_and_without_a_structure_are_not_confused() -> None:
    rt, spy = cpu(), Spy()
    rt.register(kernel("mask_filter", "tests.spy", factory=spy, priority=99))
    declared = specs()["mask_filter"]
    sizes = dict.fromkeys(declared.axes, 2)
    given: dict[str, Any] = {
        a.name: rt.empty(declared.shape(a, sizes), {"model": float32}.get(a.dtype, int32))
        for a in declared.args
        if not a.struct and a.dtype in ("int32", "model")
    }
    given |= {
        a.name: rt.empty(declared.shape(a, sizes), float32)
        for a in declared.args
        if a.dtype == "float32"
    }
    given |= {s.name: s.choices[0] if s.choices else 0 for s in declared.scalars}
    ints = rt.empty((2,), int32)
    given["trie"] = Trie((TrieLevel(ints, None),), (2,), "v")
    filters = Filters(ints, ints, ints, ints, ())
    for each in (None, filters, None, filters):
        rt.mask_filter(**given, filters=each)
    assert [p.flag("filters") for p in spy.problems] == [False, True]


def test_optional_arrays_select_their_own_problem() -> None:
    rt, spy = cpu(), Spy()
    rt.register(kernel("linear", "tests.spy", factory=spy, priority=99))
    x, weight = rt.empty((2, 8), float32), rt.empty((4, 8), float32)
    given = {"x": x, "weight": weight, "out": rt.empty((2, 4), float32)}
    bias = rt.empty((4,), float32)
    for each in ({}, {"bias": None}, {"bias": bias}, {}):
        rt.linear(**given | each)
    assert [p.flag("bias") for p in spy.problems] == [False, True]
    with pytest.raises(InputError, match="axis O is 3 in bias"):
        rt.linear(**given, bias=bias[:3])
    with pytest.raises(InputError, match="bias is int32, need float32"):
        rt.linear(**given, bias=rt.empty((4,), int32))

"""The declarations: schemas, shapes and costs, of every op and of every conformance case."""

from __future__ import annotations

import pickle
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from xgr import Problem
from xgr.errors import InputError
from xgr.ops import spec, specs
from xgr.ops.spec import TORCH_NAMES, Arg, Case, OpSpec

OPS = sorted(specs())


def shaped(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


def sizes_of_case(declared: OpSpec, case: Case) -> dict[str, int]:
    """The axis sizes among a case's parameters."""
    return {axis: size for axis, size in case.sizes.items() if axis in declared.axes}


@pytest.mark.parametrize("op", OPS)
def test_the_schema_is_torchs_grammar_with_the_written_arguments_marked(op: str) -> None:
    declared = spec(op)
    outs = [a.name for a in declared.args if a.role == "out"]
    parsed = torch._C.parse_schema(declared.schema())
    assert (parsed.name, parsed.overload_name) == (op, "out" if outs else "")
    assert not parsed.returns
    check_arguments(declared, parsed, {a.name for a in declared.args})
    marks = [a.alias_info.before_set for a in parsed.arguments if a.alias_info is not None]
    assert len({*map(frozenset, marks)}) == len(marks)  # no two written arguments alias


@pytest.mark.parametrize("op", OPS)
def test_the_returning_schema_has_results_for_outputs(op: str) -> None:
    declared = spec(op)
    parsed = torch._C.parse_schema(declared.schema(returned=True))
    assert [r.name for r in parsed.returns] == [a.name for a in declared.args if a.role == "out"]
    check_arguments(declared, parsed, {a.name for a in declared.inputs} | {*declared.asked})


def check_arguments(declared: OpSpec, parsed: Any, names: set[str]) -> None:
    found = {a.name: a for a in parsed.arguments}
    sizes = {"level_sizes"} if any(a.struct == "trie" for a in declared.args) else set()
    names_of_torch = {TORCH_NAMES.get(name, name) for name in names}
    assert set(found) == names_of_torch | sizes | {s.name for s in declared.scalars}
    for arg in declared.args:
        if arg.name not in names:
            continue
        one = found[TORCH_NAMES.get(arg.name, arg.name)]
        marked = one.alias_info is not None and one.alias_info.is_write
        assert marked == (arg.role != "in"), arg.name
        assert ("Optional" in str(one.type)) == arg.optional == one.has_default_value(), arg.name
        assert ("List" in str(one.type)) == (arg.many or bool(arg.struct)), arg.name
        assert one.kwarg_only == (arg.role == "out" or arg.optional), arg.name


def test_sizes_of_outputs_follow_from_the_inputs_or_are_asked_for() -> None:
    """An output that nothing sizes would be a wrong declaration: all axes of it are known."""
    for declared in specs().values():
        read = {x for a in declared.inputs for x in a.axis_names}
        written = {x for a in declared.args if a.role == "out" for x in a.axis_names}
        known = read | set(declared.implied) | set(declared.asked) | set(declared.derived)
        assert written <= known, declared.name
    sizes = spec("rope_kv").output_sizes(
        {"qkv": shaped(7, 96), "k": shaped(7, 3, 2, 16), "live": shaped(3)}, {}
    )
    assert spec("rope_kv").shape(spec("rope_kv").args[-1], sizes) == (7, 2, 16)
    assert spec("beam_step").asked == ("RO",)
    assert spec("swiglu").asked == ()


@pytest.mark.parametrize("op", OPS)
def test_every_case_states_all_axes_and_costs_something_that_is_not_negative(op: str) -> None:
    declared = spec(op)
    seen = set()
    for case in declared.cases():
        assert case.op == op
        assert case.id not in seen, "two cases of one id"
        seen.add(case.id)
        problem = Problem.of(op, case.dtype, case.flags, **case.sizes)
        costs = declared.flops(problem), declared.bytes(problem)
        assert all(isinstance(cost, int) and cost >= 0 for cost in costs), case.id
    assert seen


@pytest.mark.parametrize("op", OPS)
def test_costs_do_not_fall_when_an_axis_grows(op: str) -> None:
    declared = spec(op)
    case = next(iter(declared.cases()))
    small = Problem.of(op, case.dtype, case.flags, **case.sizes)
    for axis in sizes_of_case(declared, case):
        if axis == "B":
            continue  # more requests over the same rows and tokens see fewer tokens each
        grown = Problem.of(op, case.dtype, case.flags, **{**case.sizes, axis: case.sizes[axis] * 2})
        assert declared.bytes(grown) >= declared.bytes(small), axis
        assert declared.flops(grown) >= declared.flops(small), axis


@pytest.mark.parametrize("op", OPS)
def test_a_call_poses_the_problem_that_its_own_check_takes(op: str) -> None:
    declared = spec(op)
    for case in islice(declared.cases(), 8):
        values = declared.build(case)
        for arg in declared.args:
            if arg.role == "out":
                values[arg.name] = shaped(*declared.shape(arg, case.sizes))
        problem = declared.problem(values, case.dtype)
        declared.check(problem)
        assert problem.sizes.items() >= {
            (x, case.sizes[x]) for a in declared.args for x in a.axis_names if x in case.sizes
            and not a.optional
        }  # fmt: skip


def test_sizes_are_read_off_the_arrays() -> None:
    attention = spec("shared_attention")
    values = {"q": shaped(6, 4, 8), "k": shaped(9, 2, 8), "row_start": shaped(4)}
    assert attention.sizes_of({**values, "live": shaped(3)}) == {
        "R": 6, "H": 4, "d": 8, "T": 9, "G": 2, "B": 3,
    }  # fmt: skip
    with pytest.raises(InputError, match=r"row_start has shape \[4\], need \[3\]"):
        attention.sizes_of({**values, "live": shaped(2)})
    with pytest.raises(InputError, match="axis d is 7 in k and 8 in q"):
        attention.sizes_of({"q": shaped(6, 4, 8), "k": shaped(9, 2, 7)})
    with pytest.raises(InputError, match=r"q has shape \[6, 4\], need \[R, H, d\]"):
        attention.sizes_of({"q": shaped(6, 4)})


def test_problems_are_values() -> None:
    one = Problem.of("beam_sort", "float32", {"order": "rank", "a": False}, R=1, C=2)
    other = Problem.of("beam_sort", "float32", {"a": False, "order": "rank"}, C=2, R=1)
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert str(one) == "beam_sort[C=2,R=1,float32,order=rank]"
    assert (one.flag("order"), one.flag("none"), one.flag("none", 3)) == ("rank", False, 3)
    for different in (
        Problem.of("embed", "float32", {"order": "rank", "a": False}, R=1, C=2),
        Problem.of("beam_sort", "float16", {"order": "rank", "a": False}, R=1, C=2),
        Problem.of("beam_sort", "float32", {"order": "path", "a": False}, R=1, C=2),
        Problem.of("beam_sort", "float32", {"order": "rank", "a": False}, R=2, C=2),
    ):
        assert different != one


def test_axes_named_as_parameters_are_axes() -> None:
    assert Problem.of("linear", "float32", None, op=1, dtype=2, flags=3).sizes == {
        "op": 1, "dtype": 2, "flags": 3,
    }  # fmt: skip


def test_an_unknown_op_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"op 'sort' is not declared; declared: .*beam_sort"):
        spec("sort")


def test_roles_split_inputs_from_outputs() -> None:
    reorder = spec("kv_reorder")
    both = {a.name for a in reorder.inputs} & {a.name for a in reorder.outputs}
    assert both == {a.name for a in reorder.args if a.role == "inout"} >= {"k", "v"}
    assert Arg("x", "R  H d").axis_names == ("R", "H", "d")

"""Order of choice: kernel= argument, XGR_KERNEL, tuned table, priority; and nothing in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.registry.kernels import cpu, kernel, null, refuses, sort, staged, table, write
from xgr.errors import InputError, Reason, Unsupported
from xgr.ops import specs
from xgr.ops.spec import Problem
from xgr.registry import Context, Launcher
from xgr.runtime import Runtime


@pytest.fixture
def rt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runtime:
    """Four kernels of beam_sort; XGR_KERNEL names one, a tuned table another."""
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=tests.env")
    monkeypatch.setenv("XGR_TABLES", str(write(tmp_path, table())))
    return with_kernels(cpu())


def with_kernels(rt: Runtime) -> Runtime:
    for name, priority in (("env", 1), ("argument", 2), ("high", 99)):
        rt.register(kernel("beam_sort", f"tests.{name}", priority=priority))
    for name in ("narrow", "wide"):
        rt.register(kernel("beam_sort", f"tests.{name}", tunables=("tile",)))
    return rt


def decided(rt: Runtime, problem: Problem, forced: str | None = None) -> tuple[str, str]:
    choice = rt.bind(problem.op, problem, forced).choice
    assert choice.kernel is not None
    return choice.kernel.name, choice.source


def test_each_of_the_four_sources_yields_to_the_one_before(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decided(rt, sort(), "tests.argument") == ("tests.argument", "kernel= argument")
    assert decided(rt, sort()) == ("tests.env", "XGR_KERNEL")
    monkeypatch.delenv("XGR_KERNEL")
    tuned = with_kernels(cpu())
    assert decided(tuned, sort()) == ("tests.narrow", "tuned table beam_sort.json, leaf 1")
    monkeypatch.delenv("XGR_TABLES")
    assert decided(with_kernels(cpu()), sort()) == ("tests.high", "priority")


def test_among_equal_priorities_the_first_registered_serves() -> None:
    rt = cpu()
    for name in ("tests.b", "tests.a"):
        rt.register(kernel("beam_sort", name, priority=50))
    assert decided(rt, sort()) == ("tests.b", "priority")


def test_a_forced_kernel_that_cannot_run_is_an_error_with_every_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=tests.picky")
    rt = cpu()
    rt.register(
        kernel(
            "beam_sort", "tests.picky", dtypes=("float16",), archs=("sm_90",),
            limits={"C": (16, 32), "R": (1, 4)}, rule=refuses,
        )
    )  # fmt: skip
    for forced, source in (("tests.picky", "kernel= argument"), (None, "XGR_KERNEL")):
        with pytest.raises(
            Unsupported, match=f"{source} tests.picky cannot run beam_sort"
        ) as error:
            rt.bind("beam_sort", sort(), forced)
        assert [(name, reason.code) for name, reason in error.value.reasons] == [
            ("tests.picky", code) for code in ("dtype", "arch", "limit", "moon")
        ]
        for part in ("float32, need float16", "unknown, need sm_90", "C=8, need 16..32"):
            assert part in str(error.value)
        assert "got wane, need full (wait a week)" in str(error.value)


@pytest.mark.parametrize(("columns", "able"), [(15, False), (16, True), (32, True), (33, False)])
def test_both_ends_of_a_limit_belong_to_it(columns: int, able: bool) -> None:
    limited = kernel("beam_sort", "tests.limited", limits={"C": (16, 32), "elsewhere": (1, 2)})
    assert (not limited.unsupported(sort(columns))) == able


def test_a_kernel_of_another_architecture_is_not_chosen() -> None:
    there = kernel("beam_sort", "tests.arch", priority=99, archs=("sm_80", "sm_90"))
    assert [r.code for r in there.unsupported(sort(), "sm_100")] == ["arch"]
    assert not there.unsupported(sort(), "sm_90")
    rt = cpu()
    rt.register(there)
    assert decided(rt, sort()) == ("cpu_ref.fast", "priority")


def test_unknown_kernels_list_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    known = "'nobody' is no kernel of beam_sort; known: cpu_ref.fast, cpu_ref.reference"
    with pytest.raises(Unsupported, match=f"kernel= argument {known}"):
        cpu().bind("beam_sort", sort(), "nobody")
    with pytest.raises(Unsupported, match=r"known: cpu_ref\.reference, composed"):
        cpu().bind("staged_attention", staged(), "nobody")
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=nobody")
    with pytest.raises(Unsupported, match=f"XGR_KERNEL {known}"):
        cpu().explain("beam_sort", sort())


@pytest.mark.parametrize("text", ["fast", "beam_sort=", "=cpu_ref.fast", "beam_sort=a,embed", "="])
def test_a_malformed_xgr_kernel_is_quoted_with_the_form(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XGR_KERNEL", text)
    with pytest.raises(InputError, match=r"XGR_KERNEL has .* need op=kernel, comma separated"):
        cpu()


def test_xgr_kernel_names_declared_ops_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XGR_KERNEL", "beam_sotr=cpu_ref.fast")
    with pytest.raises(InputError, match=r"XGR_KERNEL: op 'beam_sotr' .* declared: .*beam_sort"):
        cpu()
    monkeypatch.setenv("XGR_KERNEL", "beam_sort=cpu_ref.fast,beam_sort=cpu_ref.reference")
    with pytest.raises(InputError, match=r"cpu_ref.fast and cpu_ref.reference for beam_sort"):
        cpu()
    monkeypatch.setenv("XGR_KERNEL", " beam_sort = cpu_ref.reference , embed=cpu_ref.fast,")
    assert decided(cpu(), sort()) == ("cpu_ref.reference", "XGR_KERNEL")


def test_deterministic_mode_removes_kernels_and_refuses_forced_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loose = kernel("beam_sort", "tests.loose", priority=99, deterministic=False)
    rt = cpu()
    rt.register(loose)
    assert decided(rt, sort()) == ("tests.loose", "priority")
    monkeypatch.setenv("XGR_DETERMINISTIC", "1")
    strict = cpu()
    strict.register(loose)
    assert decided(strict, sort()) == ("cpu_ref.fast", "priority")
    with pytest.raises(Unsupported, match="deterministic: got XGR_DETERMINISTIC=1"):
        strict.bind("beam_sort", sort(), "tests.loose")
    monkeypatch.setenv("XGR_DETERMINISTIC", "yes")
    with pytest.raises(InputError, match="XGR_DETERMINISTIC is 'yes', allowed: 0, 1"):
        cpu()


def test_the_definition_serves_toy_sizes_unasked_and_others_when_asked() -> None:
    rt = cpu()
    assert decided(rt, staged()) == ("cpu_ref.reference", "priority")
    choice = rt.bind("staged_attention", staged(8000)).choice
    assert choice.kernel is None
    assert decided(rt, staged(8000), "cpu_ref.reference")[0] == "cpu_ref.reference"


def slow(problem: Problem) -> tuple[Reason, ...]:
    return (Reason("slow", "much", "little", "ask for it"),)


def test_a_slow_kernel_is_no_fallback_of_one_that_cannot_run() -> None:
    rt = Runtime("null", null().backend)
    rt._kernels["beam_sort"] = [
        kernel("beam_sort", "tests.quick", rule=refuses, priority=9),
        kernel("beam_sort", "tests.slow", auto=slow),
    ]
    with pytest.raises(Unsupported, match="no kernel can run beam_sort") as error:
        rt.bind("beam_sort", sort())
    assert [(n, r.code) for n, r in error.value.reasons] == [
        ("tests.quick", "moon"),
        ("tests.slow", "slow"),
    ]
    assert decided(rt, sort(), "tests.slow") == ("tests.slow", "kernel= argument")


def test_an_op_without_kernels_says_so() -> None:
    rt = null()
    rt._kernels["beam_sort"] = []
    with pytest.raises(Unsupported, match="the backend has none"):
        rt.bind("beam_sort", sort())
    with pytest.raises(Unsupported, match="known: none"):
        rt.bind("beam_sort", sort(), "tests.any")


def broken(problem: Problem, context: Context) -> Launcher:
    raise OSError("compiler not found")


@pytest.mark.parametrize(
    ("factory", "error"),
    [(broken, OSError), ("xgr.no_such:build", ImportError), ("xgr.env:none", AttributeError)],
)
def test_a_kernel_that_does_not_build_is_an_error_and_no_other_serves(
    factory: str, error: type[Exception]
) -> None:
    rt = cpu()
    rt.register(kernel("beam_sort", "tests.broken", priority=99, factory=factory))
    for _ in range(2):  # and nothing half-made is kept
        with pytest.raises(error):
            rt.bind("beam_sort", sort())
    assert decided(rt, sort(), "cpu_ref.fast")[0] == "cpu_ref.fast"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem.of("beam_sotr"), r"op 'beam_sotr' is not declared; declared: .*beam_sort"),
        (sort(dtype="float8"), "dtype 'float8', allowed: float32, bfloat16, float16"),
        (sort(order="best"), "order='best', allowed: path, rank"),
        (sort(stable=True), "unknown flag 'stable'; flags: order"),
        (sort(-1), "axis C is -1, need 0 or more"),
        (Problem.of("beam_sort", "float32", {}, R=1, RO=1, C=1, B=1), "missing flag 'order'"),
        (
            Problem.of("beam_sort", "float32", {"order": "path"}, R=1, W=1, C=1, B=1),
            r"unknown axes \['W'\], missing axes \['RO'\]; axes: R, C, B, RO",
        ),
        (
            Problem.of("linear", "float32", {"bias": "yes"}, N=1, I=1, O=1),
            "bias='yes', allowed: False, True",
        ),
    ],
)
def test_problems_that_no_call_poses_are_refused(problem: Problem, message: str) -> None:
    rt = null()
    for ask in (rt.bind, rt.explain):
        with pytest.raises(InputError, match=message):
            ask(problem.op, problem)


def test_an_axis_of_an_optional_argument_is_needed_with_it() -> None:
    sizes = {"T": 4, "Q": 4, "H": 2, "G": 1, "d": 8, "B": 1}
    declared = specs()["prefill_attention"]
    sizes = {axis: 2 for axis in declared.axes if axis != "NB"}
    flags = {"causal": True, "bias": False}
    declared.check(Problem.of("prefill_attention", "float32", flags, **sizes))
    with pytest.raises(InputError, match=r"missing axes \['NB'\]"):
        declared.check(Problem.of("prefill_attention", "float32", flags | {"bias": True}, **sizes))


def test_a_problem_is_bound_under_its_own_op() -> None:
    rt = null()
    rt.bind("beam_sort", sort())
    with pytest.raises(InputError, match="embed was given a problem of 'beam_sort'"):
        rt.bind("embed", sort())


def test_kernels_are_registered_once_for_declared_ops() -> None:
    rt = cpu()
    rt.register(kernel("beam_sort", "tests.one"))
    with pytest.raises(InputError, match=r"a kernel named tests\.one already"):
        rt.register(kernel("beam_sort", "tests.one"))
    rt.register(kernel("embed", "tests.one"))
    with pytest.raises(
        InputError, match=r"kernel tests.two: op 'sort' is not declared; declared: "
    ):
        rt.register(kernel("sort", "tests.two"))
    with pytest.raises(InputError, match="named composed already"):
        rt.register(kernel("staged_attention", "composed"))
    assert [k.name for k in rt.kernels("beam_sort")][-1] == "tests.one"
    with pytest.raises(InputError, match="op 'sort' is not declared"):
        rt.kernels("sort")

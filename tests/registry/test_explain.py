"""What explain says is what bind does, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.registry.kernels import cpu, kernel, null, refuses, sort, staged
from xgr.cli.main import app
from xgr.errors import InputError, Unsupported
from xgr.registry.bind import Bound
from xgr.runtime import Runtime


def test_every_candidate_has_its_line_with_the_reason() -> None:
    rt = cpu()
    rt.register(kernel("beam_sort", "tests.no", rule=refuses, priority=5))
    assert str(rt.explain("beam_sort", sort(columns=1 << 18))).splitlines() == [
        "beam_sort[B=1,C=262144,R=4,RO=4,float32,order=path]",
        "  chosen: cpu_ref.fast (by priority)",
        "  unsupported: tests.no: moon: got wane, need full (wait a week)",
        "  not by default: cpu_ref.reference: slow: got 4.2e+06 operations or bytes, "
        "need at most 1.0e+06 (ask for it with kernel= or XGR_KERNEL)",
        "  no tuned table for this op: priority serves",
    ]
    assert "  beaten: cpu_ref.reference: priority 0" in str(rt.explain("beam_sort", sort()))


def test_a_forced_choice_is_not_put_on_priority() -> None:
    text = str(cpu().explain("beam_sort", sort(), "cpu_ref.reference"))
    assert "chosen: cpu_ref.reference (by kernel= argument)" in text
    assert "priority serves" not in text


def test_json_holds_the_same() -> None:
    rt = cpu()
    rt.register(kernel("beam_sort", "tests.no", rule=refuses))
    found = json.loads(json.dumps(rt.explain("beam_sort", sort()).to_json()))
    assert found["problem"] == str(sort())
    assert (found["chosen"], found["source"], found["tuned"]) == ("cpu_ref.fast", "priority", False)
    assert {c["kernel"]: c["verdict"] for c in found["candidates"]} == {
        "cpu_ref.fast": "chosen",
        "cpu_ref.reference": "beaten",
        "tests.no": "unsupported",
    }
    assert found["candidates"][-1]["reasons"] == ["moon: got wane, need full (wait a week)"]
    assert (found["parts"], found["passed_over"], found["refused_tables"]) == ([], "", [])


def test_a_composition_names_its_parts_and_their_kernels() -> None:
    found = cpu().explain("staged_attention", staged(8000, ancestors=True))
    parts = ["shared_attention", "unshared_attention", "merge_attention"]
    assert f"chosen: composed of {', '.join(parts)} (by no kernel of its own by default)" in str(
        found
    )
    assert "  not by default: cpu_ref.reference: slow" in str(found)
    assert [part.choice.problem.op for part in found.parts] == parts
    assert str(found).count("chosen: cpu_ref.fast (by priority)") == 3
    assert found.to_json()["chosen"] == "composed"
    assert [p["chosen"] for p in found.to_json()["parts"]] == ["cpu_ref.fast"] * 3


@pytest.mark.parametrize("ancestors", [False, True])
def test_the_parts_that_explain_names_are_the_ones_that_bind_takes(
    ancestors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt, bound = cpu(), []
    real = Runtime.bind

    def bind(self: Runtime, op: str, problem: Any, kernel: str | None = None) -> Bound:
        made = real(self, op, problem, kernel)
        bound.append((made.choice.problem, made.choice.kernel))
        return made

    monkeypatch.setattr(Runtime, "bind", bind)
    problem = staged(ancestors=ancestors)
    rt.bind("staged_attention", problem, "composed")
    explained = rt.explain("staged_attention", problem, "composed").parts
    assert bound[:-1] == [(p.choice.problem, p.choice.kernel) for p in explained]
    assert bound[1][0].flag("ancestors") is ancestors


def test_the_environment_reaches_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XGR_KERNEL", "staged_attention=composed,merge_attention=cpu_ref.reference")
    found = cpu().explain("staged_attention", staged()).to_json()
    assert (found["chosen"], found["source"]) == ("composed", "XGR_KERNEL")
    assert [p["chosen"].partition(".")[2] for p in found["parts"]] == ["fast", "fast", "reference"]


def test_a_composition_whose_part_cannot_run_is_an_error() -> None:
    rt = null()
    rt._kernels["staged_attention"] = []
    rt._kernels["merge_attention"] = [kernel("merge_attention", "tests.no", rule=refuses)]
    for ask in (rt.bind, rt.explain):
        with pytest.raises(Unsupported, match="no kernel can run merge_attention"):
            ask("staged_attention", staged())


def test_only_ops_with_a_composition_can_be_forced_into_it() -> None:
    with pytest.raises(Unsupported, match="'composed' is no kernel of beam_sort"):
        cpu().bind("beam_sort", sort(), "composed")


def cli(*words: str) -> str:
    result = CliRunner().invoke(app, ["explain", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


SIZES = ("R=4", "RO=4", "C=8", "B=1")


def test_the_command_prints_both_forms() -> None:
    text = cli("beam_sort", *SIZES, "order=rank")
    assert text.startswith("beam_sort[B=1,C=8,R=4,RO=4,float32,order=rank]\n  chosen: cpu_ref.fast")
    found = json.loads(cli("beam_sort", *SIZES, "--json", "--kernel", "cpu_ref.reference"))
    assert (found["chosen"], found["source"]) == ("cpu_ref.reference", "kernel= argument")
    assert "bias=True" in cli("linear", "N=1", "I=1", "O=1", "bias=true")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("beam_sotr",), r"op 'beam_sotr' is not declared; declared: .*beam_sort"),
        (("beam_sort", *SIZES, "W=5"), "'W=5' is neither .* axes: R, C, B, RO; flags: order"),
        (("beam_sort", *SIZES[1:]), r"missing axes \['R'\]"),
        (("beam_sort", *SIZES, "R=-4"), "'R=-4' is neither an axis size nor a flag"),
        (("beam_sort", *SIZES, "R=\N{SUPERSCRIPT TWO}"), "is neither an axis size nor a flag"),
        (("beam_sort", *SIZES, "order=best"), "order='best', allowed: path, rank"),
        (("beam_sort", *SIZES, "--dtype", "fp8"), "dtype 'fp8', allowed: float32"),
        (("linear", "N=1", "I=1", "O=1", "bias=yes"), "bias='yes', allowed: False, True"),
    ],
)
def test_the_command_refuses_what_the_op_does_not_have(words: Sequence[str], message: str) -> None:
    if len(words) == 1:
        words = (*words, "R=1")
    with pytest.raises(InputError, match=message):
        cli(*words)

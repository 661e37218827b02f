"""Command lines of benchmarks: what a run will lack is said in a line before it begins."""

from __future__ import annotations

import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Protocol

import pytest
import torch

from tests.data import ROOT
from xgr.errors import BackendMissing

EVERY = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
ON_A_GPU = ("attention", "beam_step", "core_groups", "cuda_parity", "engine", "kv_reorder",
            "linear_swiglu",
            "paged", "plain_ops", "prefill_attention")  # fmt: skip


class Refused(Protocol):
    """Runs a benchmark that must end in an error, and returns its last line."""

    def __call__(self, name: str, *words: object) -> str: ...


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    def run(name: str, *words: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            runpy.run_path(str(ROOT / "benchmarks" / f"{name}.py"), run_name="__main__")
        code = caught.value.code
        assert code not in (None, 0)
        # a text as the code is what the interpreter will print
        said = code if isinstance(code, str) else capsys.readouterr().err
        return said.strip().splitlines()[-1]

    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Not a folder, so that nothing can be written under it."""
    path = tmp_path / "file"
    path.touch()
    return path


@pytest.mark.parametrize("name", EVERY)
def test_a_record_that_cannot_be_written_is_said_before_the_run(
    name: str, refused: Refused, file: Path
) -> None:
    said = refused(name, "--json", file / "a.json")
    assert f"argument --json: {file / 'a.json'} cannot be written: " in said


@pytest.mark.parametrize(
    ("name", "option"), [("core_groups", "--plot"), ("paged", "--plot"), ("hf_oracle", "--dump")]
)
def test_so_are_a_plot_and_a_dump(name: str, option: str, refused: Refused, file: Path) -> None:
    said = refused(name, option, file / "a.png")
    assert f"argument {option}: {file / 'a.png'} cannot be written: " in said
    if option == "--plot":
        assert "allowed: .png, .svg, .pdf" in refused(name, option, file.with_suffix(".xyz"))


@pytest.mark.parametrize("name", ON_A_GPU)
def test_without_a_gpu_a_benchmark_ends_in_a_line(
    name: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(device: str) -> None:
        assert device == "cuda", "it works on another device before it asks for the GPU"
        raise BackendMissing("device 'cuda' cannot be used here")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(import_module("xgr.runtime"), "_runtime", absent)
    said = refused(name)
    assert said.startswith(("device 'cuda' cannot be used here", "torch sees no CUDA device"))


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many"])
@pytest.mark.parametrize("option", ["--lanes", "--max-requests"])
def test_counts_are_positive(option: str, value: str, refused: Refused) -> None:
    said = refused("engine", option, value, "--device", "nothing")
    assert f"argument {option}: {value!r} is no whole number of at least 1" in said

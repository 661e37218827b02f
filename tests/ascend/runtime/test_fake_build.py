"""The two ways to come under the fake CANN, and what is built once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.ascend.device import need_torch_npu

need_torch_npu()

from tests.ascend.fake_cann import build, symbols  # noqa: E402

PROGRAM = """
from tests.ascend.fake_cann.build import load
load()
import torch, torch_npu
print((torch.ones(2).npu() + 1).cpu().tolist())
"""


def run(*command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, *command]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)


def test_a_process_can_load_it_by_itself() -> None:
    bare = {k: v for k, v in os.environ.items() if k not in {"LD_LIBRARY_PATH", *build.SETTINGS}}
    done = run("-c", PROGRAM, environment=bare)
    assert done.stdout.splitlines()[-1:] == ["[2.0, 2.0]"], done.stderr


def test_a_command_is_needed() -> None:
    done = run("-m", "tests.ascend.fake_cann", environment=dict(os.environ))
    assert done.returncode != 0
    assert "COMMAND" in done.stderr


def test_it_is_built_once() -> None:
    folder = build.build()
    before = (folder / build.MAIN).stat().st_mtime_ns
    assert build.build() == folder
    assert (folder / build.MAIN).stat().st_mtime_ns == before


def test_every_library_that_torch_npu_links_to_is_there() -> None:
    folder = build.build()
    needed = symbols.needed_libraries()
    assert {"libascendcl.so", "libhccl.so", "libgraph.so"} <= needed
    assert all((folder / name).exists() for name in needed | build.OPENED)


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="torch_npu is not installed"):
        symbols.package("torch_npu")

"""Every way of getting the package gives the same files under the same names."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import xgr
from tests.data import ROOT

# the links are what makes `xgr.backends` real on disk for every tool
LINKS = {"backends": "../backends", "tuner": "../tuner"}


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr or done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files as they stand, in a tree that has no trace of builds."""
    target = tmp_path_factory.mktemp("clone")
    listed = run("git", "ls-files", "-z", "--cached", cwd=ROOT).split("\0")
    names = target / "names"
    names.write_text("\0".join(n for n in listed if n and os.path.lexists(ROOT / n)))
    tree = target / "tree"
    tree.mkdir()
    archive = target / "tree.tar"
    run("tar", "--null", "-T", names, "-cf", archive, cwd=ROOT)
    run("tar", "-xf", archive, cwd=tree)
    return tree


@pytest.fixture(scope="module")
def built(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wheel straight from the tree, an sdist, and a wheel through the sdist."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation"]
    run(*build, "--wheel", "--outdir", out / "direct", clone, cwd=out)
    run(*build, "--sdist", "--outdir", out / "sdist", clone, cwd=out)
    sdist = next((out / "sdist").glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(out / "unpacked", filter="data")
    unpacked = next((out / "unpacked").iterdir())
    run(*build, "--wheel", "--outdir", out / "through", unpacked, cwd=out)
    wheels = {name: next((out / name).glob("*.whl")) for name in ("direct", "through")}
    return {**wheels, "sdist": sdist, "unpacked": unpacked}


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {n for n in archive.namelist() if not n.startswith("xgr-")}


def tracked(clone: Path) -> set[str]:
    """What a wheel must hold: every file under xgr/, the links followed."""
    found = set()
    for folder, _, files in os.walk(clone / "xgr", followlinks=True):
        found |= {str((Path(folder) / name).relative_to(clone)) for name in files}
    return found


def test_links_are_links_and_tracked_as_links() -> None:
    for name, target in LINKS.items():
        assert os.readlink(ROOT / "xgr" / name) == target
        mode = run("git", "ls-files", "-s", f"xgr/{name}", cwd=ROOT).split()[0]
        assert mode == "120000", f"xgr/{name} is not tracked as a link"


def test_bare_names_are_not_imported() -> None:
    code = (
        "import sys, xgr, xgr.cli.main; xgr.runtime('cpu'); xgr.runtime('null'); "
        "assert not {'backends', 'tuner', 'torch'} & set(sys.modules)"
    )
    run(sys.executable, "-c", code, cwd=ROOT)


def test_wheels_are_the_same_both_ways(built: dict[str, Path], clone: Path) -> None:
    assert members(built["direct"]) == members(built["through"]) == tracked(clone)


def test_sdist_has_the_readme_the_licence_and_no_links(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {m.name.partition("/")[2] for m in archive if not m.isdir()}
        assert not [m.name for m in archive if m.issym()]
    assert {"README.md", "LICENSE", "pyproject.toml", "xgr/backends/base.py"} <= names


@pytest.mark.parametrize("how", ["wheel", "sdist", "clone"])
def test_runs_from(how: str, built: dict[str, Path], clone: Path, tmp_path: Path) -> None:
    source = {"wheel": built["direct"], "sdist": built["unpacked"], "clone": clone}[how]
    if how == "wheel":
        run(
            sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
            "--target", tmp_path / "site", source, cwd=tmp_path,
        )  # fmt: skip
        source = tmp_path / "site"
    code = (
        "import xgr, xgr.backends.base, xgr.tuner; print(xgr.__file__); "
        "from xgr.cli.main import app; app(['doctor'])"
    )
    printed = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(source))
    assert printed.startswith(str(source)), printed
    assert "ok cpu" in printed


def test_this_environment_runs_the_tree() -> None:
    assert Path(xgr.__file__).resolve() == ROOT / "xgr" / "__init__.py"

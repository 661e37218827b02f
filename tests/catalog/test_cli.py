"""`xgr catalog build` and `xgr catalog inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from xgr.catalog import Catalogue, read_catalogue
from xgr.cli.catalog import app
from xgr.errors import CatalogueError

RUN = CliRunner()


def test_build_then_inspect(tmp_path: Path) -> None:
    np.save(tmp_path / "items.npy", np.asarray([[0, 3], [0, 1], [2, 1], [2, 1], [0, 2]]))
    out = tmp_path / "saved"
    result = RUN.invoke(app, ["build", str(tmp_path / "items.npy"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    version = Catalogue.load(out).version
    assert "5 items, 4 SIDs, depth 2" in result.output
    assert version in result.output

    facts = json.loads(RUN.invoke(app, ["inspect", str(out), "--json"]).output)
    assert facts["version"] == version
    assert facts["shared_sids"] == {"1": 3, "2": 1}
    assert facts["levels"][0] == {
        "codes": 3,
        "codes_used": 2,
        "nodes": 2,
        "children": {"min": 2, "mean": 2.0, "max": 2},
    }
    assert facts["levels"][1]["children"] == {"min": 1, "mean": 2.0, "max": 3}
    assert facts["bytes"] == sum(path.stat().st_size for path in out.glob("*.bin"))

    text = RUN.invoke(app, ["inspect", str(out)]).output
    assert "items a SID  1: 3, 2: 1" in text
    assert ["1", "4", "3", "4", "1", "2.0", "3"] in [line.split() for line in text.splitlines()]
    assert text.isascii()


def test_build_options_reach_the_reader(tmp_path: Path) -> None:
    source, info = tmp_path / "rows.json", tmp_path / "titles.txt"
    source.write_text('{"1": ["<a_1>"], "2": ["<a_1>", "<b_4>"]}')
    info.write_text("<a_1><b_4>\tA lamp\t2\n")
    arguments = ["build", str(source), "--out", str(tmp_path / "c"), "--format", "index-json"]
    result = RUN.invoke(app, [*arguments, "--pad-code", "<b_none>", "--titles", str(info)])
    assert result.exit_code == 0, result.output
    built = read_catalogue(tmp_path / "c")
    assert built.labels[1] == ("<b_4>", "<b_none>")
    assert built.title(built.position(2)) == "A lamp"


def test_verify_reads_every_byte(tmp_path: Path) -> None:
    Catalogue.from_sids([[0], [1]], titles=["a", "b"]).save(tmp_path / "c")
    arguments = ["inspect", str(tmp_path / "c"), "--verify"]
    assert RUN.invoke(app, arguments).exit_code == 0
    (tmp_path / "c" / "titles.bin").write_bytes(b"xy")
    assert RUN.invoke(app, arguments[:2]).exit_code == 0
    result = RUN.invoke(app, arguments)
    assert isinstance(result.exception, CatalogueError)
    assert "titles.bin: the content has changed" in str(result.exception)


def test_an_out_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    np.save(tmp_path / "items.npy", np.asarray([[0]]))
    (tmp_path / "file").write_text("in the way")
    for out in ("file", "file/c"):
        arguments = ["build", str(tmp_path / "items.npy"), "--out", str(tmp_path / out)]
        result = RUN.invoke(app, arguments)
        assert isinstance(result.exception, CatalogueError)
        assert str(tmp_path / out) in str(result.exception)


def test_refusals_are_left_to_the_caller(tmp_path: Path) -> None:
    result = RUN.invoke(app, ["inspect", str(tmp_path)])
    assert isinstance(result.exception, CatalogueError)

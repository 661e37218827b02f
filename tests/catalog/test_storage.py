"""Saved catalogues: round trip, memory mapping, and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xgr
from tests.catalog.brute import SID, examples, sid_rows
from xgr.catalog import Catalogue, read_catalogue
from xgr.catalog.device import upload_trie
from xgr.errors import CatalogueError


def same(one: Catalogue, other: Catalogue) -> None:
    left, right = one.arrays(), other.arrays()
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        assert np.array_equal(array, right[name])
    assert (one.version, one.labels, one.label_kind) == (
        other.version,
        other.labels,
        other.label_kind,
    )
    for at in range(one.num_items):
        assert (one.item_id(at), one.title(at)) == (other.item_id(at), other.title(at))


@examples
@given(sid_rows(), st.booleans(), st.booleans(), st.booleans())
def test_save_and_load_give_the_same_catalogue(
    tmp_path_factory: pytest.TempPathFactory, sids: list[SID], text: bool, named: bool, told: bool
) -> None:
    folder = tmp_path_factory.mktemp("saved")
    ids = [f"ü{row}" for row in range(len(sids))] if text else None
    titles = [f"title {row}" if row % 2 else None for row in range(len(sids))] if told else None
    labels = [[f"<l_{code}>" for code in range(8)] for _ in sids[0]] if named else None
    built = Catalogue.from_sids(sids, ids, labels, titles=titles)
    built.save(folder / "a")
    loaded = Catalogue.load(folder / "a", verify=True)
    same(built, loaded)
    same(built, Catalogue.from_sids(sids, ids, labels, titles=titles, out=folder / "b"))
    assert loaded.position(built.item_id(0)) == 0
    shutil.rmtree(folder)


def test_loaded_arrays_are_mapped_and_read_only(tmp_path: Path) -> None:
    Catalogue.from_sids([[0, 1], [1, 0]]).save(tmp_path / "c")
    loaded = Catalogue.load(tmp_path / "c")
    for array in (loaded.levels[1].code, loaded.item_start, loaded.levels[0].leaf_lo):
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        assert isinstance(root, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_equal_content_has_one_version_and_any_change_another() -> None:
    sids, ids, labels = [[0, 1], [1, 0], [1, 0]], ["x", "y", "z"], [["<a_0>", "<a_1>"]] * 2
    base = Catalogue.from_sids(sids, ids, labels).version
    assert Catalogue.from_sids(sids[::-1], ids[::-1], labels).version != base  # the order of y, z
    assert (
        Catalogue.from_sids([sids[i] for i in (1, 0, 2)], ["y", "x", "z"], labels).version == base
    )
    others = [
        Catalogue.from_sids([[0, 1], [1, 0], [1, 1]], ids, labels),
        Catalogue.from_sids(sids, ["x", "y", "w"], labels),
        Catalogue.from_sids(sids, ids, [["<a_0>", "<a_2>"]] * 2),
        Catalogue.from_sids(sids, ids),
        Catalogue.from_sids(sids, ids, level_sizes=[3, 2]),
        Catalogue.from_sids(sids, ids, labels, titles=["t", None, None]),
    ]
    versions = {base, *(other.version for other in others)}
    assert len(versions) == 7


def test_saving_replaces_a_catalogue_and_nothing_else(tmp_path: Path) -> None:
    old, new = Catalogue.from_sids([[0]]), Catalogue.from_sids([[0], [1]])
    old.save(tmp_path / "c")
    mapped = Catalogue.load(tmp_path / "c")
    new.save(tmp_path / "c")
    assert Catalogue.load(tmp_path / "c").version == new.version
    assert mapped.levels[0].code.tolist() == [0]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    with pytest.raises(CatalogueError, match="is not a saved catalogue; choose another folder"):
        new.save(tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "mine"]


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="given before"):
        Catalogue.from_sids([[0], [1]], [5, 5], out=tmp_path / "c")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    rows = np.random.default_rng(0).integers(0, 4, (50, 3))
    names = [f"n{row}" for row in range(50)]
    Catalogue.from_sids(rows, names, titles=names).save(tmp_path / "c")
    return tmp_path / "c"


def test_every_truncated_or_missing_file_is_refused(saved: Path) -> None:
    files = sorted(saved.glob("*.bin"))
    assert len(files) >= 10
    for path in files:
        whole = path.read_bytes()
        for content in (whole[:-1], whole + b"\0"):
            path.write_bytes(content)
            with pytest.raises(CatalogueError, match=f"{path.name} has {len(content)} bytes"):
                Catalogue.load(saved)
        path.unlink()
        with pytest.raises(CatalogueError, match=f"{path.name} is missing"):
            Catalogue.load(saved)
        path.write_bytes(whole)
    Catalogue.load(saved)


def test_changed_bytes_are_found_when_asked(saved: Path) -> None:
    path = saved / "level2.code.bin"
    content = bytearray(path.read_bytes())
    content[8] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CatalogueError, match=r"level2\.code\.bin: the content has changed"):
        Catalogue.load(saved, verify=True)


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("level0.code", 1, -1),
        ("level0.code", 0, 4),
        ("level1.code", 2, 2**31 - 1),
        ("level2.code", 3, -(2**31)),
        ("level2.code", 1, 0),
        ("level0.first_child", 1, 0),
        ("level0.first_child", 2, 9999),
        ("level1.first_child", 3, -5),
        ("level0.leaves", 1, 1),
        ("level0.leaves", 2, -1),
        ("item_start", 4, 0),
        ("item_start", 5, 2**30),
        ("item_rank", 0, 50),
        ("item_rank", 7, -1),
    ],
)
def test_values_that_lead_astray_are_found_before_they_are_served(
    saved: Path, name: str, index: int, value: int
) -> None:
    whole = Catalogue.load(saved)
    whole.check()
    values = np.fromfile(saved / f"{name}.bin", dtype=np.int32)
    assert values[index] != value
    values[index] = value
    values.tofile(saved / f"{name}.bin")
    reason = rf"the saved catalogue is damaged: {name}\.bin holds -?\d+ at index {index}|index \d+"
    labels = [[f"<a_{code}>" for code in range(4)]] * 3
    for use in (
        lambda catalogue: catalogue.check(),
        lambda catalogue: catalogue.rebase(labels),
        lambda catalogue: upload_trie(xgr.runtime("cpu"), catalogue),
    ):
        with pytest.raises(CatalogueError, match=reason):
            use(Catalogue.load(saved))
    with pytest.raises(CatalogueError, match=rf"{name}\.bin: the content has changed"):
        read_catalogue(saved, verify=True)


@pytest.mark.parametrize("ids", [None, range(0, 200, 2), [f"n{row}" for row in range(100)]])
def test_a_damaged_index_of_ids_is_an_error_of_the_catalogue(tmp_path: Path, ids: Any) -> None:
    Catalogue.from_sids([[0]] * 100, ids and list(ids)).save(tmp_path / "c")
    path = tmp_path / "c" / "item_rank.bin"
    np.full(100, 1000, dtype=np.int32).tofile(path)
    damaged = Catalogue.load(tmp_path / "c")
    known = [damaged.item_id(at) for at in range(100)]
    for wanted in (known[:1], known):
        with pytest.raises(CatalogueError, match="index of item ids points outside"):
            damaged.positions(wanted)


def test_texts_that_are_not_utf8_are_an_error_of_the_catalogue(saved: Path) -> None:
    for name in ("item_texts", "titles"):
        path = saved / f"{name}.bin"
        path.write_bytes(b"\xff" * path.stat().st_size)
    damaged = Catalogue.load(saved)
    for read in (damaged.item_id, damaged.title):
        with pytest.raises(CatalogueError, match="text 3 is not UTF-8"):
            read(3)


def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue, blocked = Catalogue.from_sids([[0]]), tmp_path / "file"
    blocked.write_text("in the way")
    for target in (
        blocked / "c",
        blocked / "c" / "d",
        Path("/proc/nowhere/c"),
        Path("/dev/null/c"),
    ):
        for save in (
            catalogue.save,
            lambda folder: Catalogue.from_sids([[0]], out=folder),
        ):
            with pytest.raises(CatalogueError, match=f"{target} cannot be written: "):
                save(target)
    catalogue.save(tmp_path / "c")

    def full(path: Path, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CatalogueError, match=r"c cannot be written: .*No space left"):
        Catalogue.from_sids([[0], [1]]).save(tmp_path / "c")
    assert Catalogue.load(tmp_path / "c").num_items == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "file"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "other"}, "not the manifest of an xgr catalogue"),
        ({"schema": 99}, "schema 99; this version of xgr reads 1"),
        ({"depth": 0}, "depth 0"),
        ({"depth": 2}, "nodes in the last level"),
        ({"num_items": 49}, "expected|does not run"),
        ({"num_sids": 3}, "item_start"),
        ({"level_sizes": "x"}, "level_sizes"),
        ({"label_kind": "word"}, "label_kind"),
        ({"label_kind": "token_id"}, "labels are nothing"),
        ({"label_kind": "token", "labels": [[5], [6], [7]]}, "of kind token_id, not token"),
        ({"label_kind": "token", "labels": [["<a_1>"]] * 3}, "do not agree"),
        ({"level_sizes": [4, 4]}, "do not agree"),
        ({"level_sizes": [4, 4, -1]}, "level_sizes are not all"),
        ({"level_sizes": [4, 4, 2**70]}, r"catalogue\.json"),
        ({"level_sizes": [4, 4, 5]}, "the version is not that of the content"),
        ({"id_kind": "number"}, "id_kind"),
        ({"id_kind": "integer"}, "array item_ids is missing"),
        ({"version": "0" * 32}, "the version is not that of the content"),
        ({"num_items": 0}, "0 items"),
        ({"num_sids": 0}, "0 SIDs"),
        ({"surprise": 1}, "surprise"),
        ({"arrays": {}}, "array level0.code is missing"),
    ],
)
def test_a_foreign_manifest_is_refused(saved: Path, change: dict[str, object], reason: str) -> None:
    path = saved / "catalogue.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | change))
    with pytest.raises(CatalogueError, match=reason):
        Catalogue.load(saved)


def test_other_folders_and_broken_manifests_are_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"has no catalogue\.json"):
        Catalogue.load(tmp_path)
    (saved / "catalogue.json").write_text('{"format": ' + "[" * 100_000)
    with pytest.raises(CatalogueError, match="too deeply nested"):
        Catalogue.load(saved)
    (saved / "catalogue.json").write_text('{"format": ')
    with pytest.raises(CatalogueError, match=r"catalogue\.json"):
        Catalogue.load(saved)
    (saved / "catalogue.json").write_bytes(b"\x80\x04]")  # the first bytes of a pickle
    with pytest.raises(CatalogueError, match=r"catalogue\.json"):
        Catalogue.load(saved)

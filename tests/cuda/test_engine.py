"""The whole engine on interpreted kernels, against the engine on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cuda.interpreter import QUIET, interpreted, need_interpreter
from tests.engine.world import assert_same, beams, make_world
from xgr.errors import InputError

need_interpreter()
pytest.importorskip("transformers", reason="writes a tiny checkpoint with transformers")
pytestmark = QUIET

HISTORIES = [[3], [5, 8, 1]]


@pytest.mark.parametrize(
    ("kv_mode", "normalize"), [("ancestors", "vocab"), ("reorder", "children")]
)
def test_beams_are_those_of_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kv_mode: str, normalize: str
) -> None:
    world = make_world(tmp_path, num_hidden_layers=1)
    options = {"normalize": normalize, "kv_mode": kv_mode, "max_tokens": 64, "max_rows": 32}
    want = world.recommender(**options).recommend(HISTORIES, 40, [3, 9, 7], exclude=[1, 2, 3])
    monkeypatch.setattr("xgr.engine.recommender.runtime", lambda device: interpreted())
    device = world.recommender(device="cuda", dtype="float32", **options)
    assert device.engine.rt.device == "cuda"
    found = device.recommend(HISTORIES, 40, [3, 9, 7], exclude=[1, 2, 3])
    for got, one in zip(found, want, strict=True):
        assert_same(beams(got), beams(one))


def test_limits_beyond_the_memory_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(tmp_path, num_hidden_layers=1)
    monkeypatch.setattr("xgr.engine.recommender.runtime", lambda device: interpreted())
    for name, given in (("max_tokens", 10**12), ("max_rows", 10**12)):
        with pytest.raises(InputError, match=f"{name}={given}.* take .* bytes"):
            world.recommender(device="cuda", dtype="float32", **{name: given})

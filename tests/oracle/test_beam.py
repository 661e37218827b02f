"""The oracle itself, held to scoring every SID of the catalogue one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.oracle.beam import Scored, Sid, beam_search, load
from tests.oracle.kv import DynamicBeams, FixedBeams
from tests.oracle.tiny import FAMILIES, ROPES, tiny_catalogue, tiny_model
from tests.oracle.trie import Trie


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def sids(folder: Path) -> list[Sid]:
    items, vocab = tiny_catalogue(folder)
    return [tuple(vocab[label] for label in labels) for labels in items.values()]


PROMPT = [1, 9, 20, 4, 11, 13, 5, 17]


def every_score(model: Any, prompt: list[int], sids: list[Sid]) -> Scored:
    """All distinct SIDs by score, each from whole forwards without any cache."""
    distinct = sorted(set(sids))
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + list(sid) for sid in distinct])).logits.double()
    rows = logits.log_softmax(-1)[:, len(prompt) - 1 : -1]
    picked = rows.gather(-1, torch.tensor(distinct)[..., None])[..., 0].sum(-1)
    scored = list(zip(distinct, picked.tolist(), strict=True))
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def assert_same(got: Scored, want: Scored) -> None:
    assert [sid for sid, _ in got] == [sid for sid, _ in want]
    assert [s for _, s in got] == pytest.approx([s for _, s in want], abs=1e-5)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_wide_search_scores_every_sid(folder: Path, sids: list[Sid], attention: str) -> None:
    model = load(folder, attention=attention)
    found = beam_search(model, PROMPT, sids, 1000)
    assert_same(found.results, every_score(model, PROMPT, sids))
    assert found.cut_gaps == [float("inf")] * 3


@pytest.mark.parametrize("widths", [1, 4, [2, 3, 9], [6, 4, 2]])
def test_narrow_search_keeps_the_best_prefixes(
    folder: Path, sids: list[Sid], widths: int | list[int]
) -> None:
    model = load(folder)
    found = beam_search(model, PROMPT, sids, widths)
    per_level = [widths] * 3 if isinstance(widths, int) else widths
    alive: list[Sid] = [()]
    for level, width in enumerate(per_level):
        nexts = {sid[: level + 1] for sid in sids if sid[:level] in alive}
        ranked = every_score(model, PROMPT, sorted(nexts))
        alive = [prefix for prefix, _ in ranked[:width]]
        cut = ranked[width - 1][1] - ranked[width][1] if len(ranked) > width else float("inf")
        assert found.cut_gaps[level] == pytest.approx(cut, abs=1e-5)
    assert_same(found.results, ranked[: per_level[-1]])


@pytest.mark.parametrize("widths", [1, 5, [3, 8, 2], [2, 9, 40]])
def test_both_caches_agree(folder: Path, sids: list[Sid], widths: int | list[int]) -> None:
    model, fixed = load(folder), FixedBeams()
    for prompt in (PROMPT, PROMPT[:3], PROMPT * 2):
        ours = beam_search(model, prompt, sids, widths, beam_cache=fixed)
        assert_same(
            ours.results, beam_search(model, prompt, sids, widths, beam_cache=DynamicBeams).results
        )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rope", sorted(ROPES))
def test_families_and_ropes(tmp_path: Path, family: str, rope: str) -> None:
    items, vocab = tiny_catalogue(tmp_path)
    sids = [tuple(vocab[label] for label in labels) for labels in items.values()]
    model = load(tiny_model(tmp_path, family, rope=rope, tied=False, kv_heads=1))
    prompt = PROMPT * 3
    assert_same(
        beam_search(model, prompt, sids, 100).results[:10], every_score(model, prompt, sids)[:10]
    )


def test_equal_scores_go_to_the_smaller_path(folder: Path) -> None:
    model = load(folder)
    torch.nn.init.zeros_(model.model.norm.weight)  # every logit is 0
    sids = [(a, b) for b in (9, 7, 8) for a in (6, 5)]
    found = beam_search(model, PROMPT, sids, [2, 4])
    assert [sid for sid, _ in found.results] == [(5, 7), (5, 8), (5, 9), (6, 7)]
    assert found.cut_gaps == [float("inf"), 0.0]


def test_normalisations(folder: Path, sids: list[Sid]) -> None:
    model = load(folder)
    levels = [sorted({sid[level] for sid in sids}) for level in range(3)]
    every = {
        kind: dict(
            beam_search(model, PROMPT, sids, 99, normalize=kind, level_tokens=levels).results
        )
        for kind in ("vocab", "level", "children", "none")
    }
    total = sum(torch.tensor(score).exp() for score in every["children"].values())
    assert float(total) == pytest.approx(1.0, abs=1e-5)
    for sid, score in every["vocab"].items():
        assert score < every["level"][sid] < every["children"][sid] + 1e-9
    with torch.inference_mode():
        ids = torch.tensor([PROMPT + list(sids[0])])
        logits = model(ids).logits[0, len(PROMPT) - 1 :].double()
    raw = sum(float(logits[i, token]) for i, token in enumerate(sids[0]))
    assert every["none"][sids[0]] == pytest.approx(raw, abs=1e-5)
    with pytest.raises(ValueError, match="normalize must be"):
        beam_search(model, PROMPT, sids, 9, normalize="all")


def test_only_whole_sids_come_out(folder: Path) -> None:
    found = beam_search(load(folder), PROMPT, [(5, 6), (7, 8)], 9)
    assert sorted(sid for sid, _ in found.results) == [(5, 6), (7, 8)]


def test_trie_children_are_the_prefixes_that_exist() -> None:
    trie = Trie([(2, 1), (1, 9), (1, 3), (2, 1)])
    assert [level.tolist() for level in trie.tokens] == [[1, 2], [3, 9, 1]]
    rows, child = trie.children(1, torch.tensor([1, 0]))
    assert rows.tolist() == [0, 1, 1]
    assert child.tolist() == [2, 0, 1]


@pytest.mark.parametrize("sids", [[], [(1, 2), (3,)], [()]])
def test_trie_refuses_what_is_no_catalogue(sids: list[Sid]) -> None:
    with pytest.raises(ValueError, match="SIDs of one length"):
        Trie(sids)

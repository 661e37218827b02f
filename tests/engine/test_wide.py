"""Both sides of the thresholds that kernels have: widths, and candidates beyond 2^17."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.engine.world import World, make_world, token_beams
from tests.oracle.beam import beam_search
from tests.oracle.compare import compare
from tests.oracle.trie import Trie
from xgr import Recommender
from xgr.catalog import Catalogue

HISTORY = [5, 8, 1]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> World:
    """3000 items of 3 x 40 codes: some 2950 SIDs, 1600 prefixes of two levels."""
    folder = tmp_path_factory.mktemp("many")
    return make_world(folder, codes=(40, 40, 40), items=3000, vocab_size=128)


@pytest.mark.parametrize("width", [63, 64, 65, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025])
def test_widths_around_powers_of_two(many: World, width: int) -> None:
    recommender = many.recommender()
    oracle = beam_search(many.model, many.prompt(HISTORY), map(many.tokens, many.sids), width)
    found = recommender.recommend([HISTORY], width, width)[0]
    problems = compare(token_beams(found), oracle)
    assert problems == [] or min(oracle.cut_gaps) < 1e-4
    assert found.n_valid == width


@pytest.mark.parametrize("width", [1, 33, 512])
def test_every_pair_of_400_codes_is_a_sid(
    tmp_path_factory: pytest.TempPathFactory, width: int
) -> None:
    """Level 1 has 400 rows of 400 children: 160000 candidates."""
    world = make_world(
        tmp_path_factory.mktemp("dense"), codes=(400, 400), items=400, vocab_size=803
    )
    labels = [[f"<{letter}_{code}>" for code in range(400)] for letter in "ab"]
    pairs = np.stack(np.unravel_index(np.arange(160000), (400, 400)), axis=1)
    recommender = Recommender.from_pretrained(
        world.folder, Catalogue.from_sids(pairs, labels=labels), lanes=1
    )
    widths = [400, width]
    prompt = world.prompt(HISTORY)
    tokens = [[world.vocab[label] for label in level] for level in labels]
    oracle = beam_search(world.model, prompt, Trie(itertools.product(*tokens)), widths)
    found = recommender.recommend(token_ids=[prompt], k=width, beam_width=widths)[0]
    assert compare(token_beams(found), oracle) == []
    assert [item.item_id for item in found] == [
        int(np.ravel_multi_index(item.codes, (400, 400))) for item in found
    ]

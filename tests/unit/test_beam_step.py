"""What the cases of beam_step do not say: sizes beyond them, chains of levels, refusals."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xgr
from xgr.backends.cpu_ref.fast.candidates import pick
from xgr.backends.cpu_ref.fast.selection import best, cut
from xgr.errors import InputError
from xgr.ops.array import Trie
from xgr.ops.beam_step import NAN_LOGIT
from xgr.ops.tries import random_sids, trie_of

Values = dict[str, Any]
KERNELS = ["cpu_ref.reference", "cpu_ref.fast"]


def step(
    kernel: str, logits: NDArray[Any], width: int, trie: Trie | None = None, **changes: Any
) -> Values:
    """One request, all of its rows live."""
    rows = len(logits)
    outputs: Values = {
        "parent": np.empty(width, np.int32),
        "code": np.empty(width, np.int32),
        "node_out": np.empty(width, np.int32),
        "cumulative_out": np.empty(width, np.float32),
        "live_out": np.empty(1, np.int32),
        "status": np.zeros(1, np.int32),
    }
    inputs: Values = {
        "logits": logits,
        "cumulative": np.zeros(rows, np.float32),
        "node": np.zeros(rows, np.int32),
        "row_start": np.array([0, rows], np.int32),
        "live": np.array([rows], np.int32),
        "row_start_out": np.array([0, width], np.int32),
        "out_width": np.array([width], np.int32),
        "trie": trie,
        "level": 0,
        "normalize": "none",
        "order": "path",
    } | changes
    xgr.runtime("cpu").beam_step(**inputs, **outputs, kernel=kernel)
    return outputs


@pytest.mark.parametrize("kernel", KERNELS)
def test_three_levels_give_the_best_items(kernel: str) -> None:
    rng = np.random.default_rng(0)
    sizes = (5, 6, 7)
    sids = random_sids(rng, sizes, 60)
    trie = trie_of(sids, sizes)
    tables = [rng.normal(size=size).astype(np.float32) for size in sizes]
    beams: Values = {"parent": np.zeros(1, np.int32), "live_out": [1]}
    paths = np.zeros((1, 0), np.int64)
    for level, table in enumerate(tables):
        rows = int(beams["live_out"][0])
        last = level == 2
        state = {}
        if level:
            state = {"node": beams["node_out"][:rows], "cumulative": beams["cumulative_out"][:rows]}
        logits = np.tile(table, (rows, 1))
        width = 10 if last else 60
        order = "rank" if last else "path"
        beams = step(kernel, logits, width, trie, level=level, order=order, **state)
        found = int(beams["live_out"][0])
        codes = beams["code"][:found, None]
        paths = np.concatenate((paths[beams["parent"][:found]], codes), axis=1)
        if not last:
            # inner levels come in the order of the catalogue
            assert [tuple(p) for p in paths] == sorted(tuple(p) for p in paths)
    total = sum(table[sids[:, level]] for level, table in enumerate(tables))
    # no width cut an inner level: the beams are the best items of all
    np.testing.assert_array_equal(paths, sids[np.argsort(-total, kind="stable")[:10]])
    np.testing.assert_array_equal(sids[beams["node_out"]], paths)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_level_beyond_the_depth_is_refused(kernel: str) -> None:
    sizes = (3, 3)
    trie = trie_of(random_sids(np.random.default_rng(0), sizes, 5), sizes)
    with pytest.raises(InputError, match="level 2 of a catalogue with 2 levels"):
        step(kernel, np.zeros((1, 3), np.float32), 2, trie, level=2)


@pytest.mark.parametrize("kernel", KERNELS)
def test_codes_without_a_column_are_refused(kernel: str) -> None:
    sizes = (4, 3)
    trie = trie_of(random_sids(np.random.default_rng(0), sizes, 5), sizes)
    with pytest.raises(InputError, match=r"has 4 codes.* 3 columns"):
        step(kernel, np.zeros((1, 3), np.float32), 2, trie)


@pytest.mark.parametrize("kernel", KERNELS)
def test_vocab_without_its_lse_is_refused(kernel: str) -> None:
    with pytest.raises(InputError, match="lse"):
        step(kernel, np.zeros((1, 3), np.float32), 2, normalize="vocab")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("normalize", ["level", "children", "none"])
def test_legal_codes_of_minus_infinity_are_still_chosen(kernel: str, normalize: str) -> None:
    got = step(kernel, np.full((1, 3), -np.inf, np.float32), 5, normalize=normalize)
    assert got["live_out"] == [3]
    assert got["status"] == [0]
    np.testing.assert_array_equal(got["cumulative_out"][:3], np.float32(-1e30))
    np.testing.assert_array_equal(got["cumulative_out"][3:], -np.inf)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("normalize", ["level", "children"])
def test_scores_are_log_probabilities(kernel: str, normalize: str) -> None:
    logits = np.random.default_rng(0).normal(size=(1, 50)).astype(np.float32)
    got = step(kernel, logits, 50, normalize=normalize)
    assert np.exp(got["cumulative_out"].astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_filter_changes_no_score(kernel: str) -> None:
    from xgr.ops.array import EXCLUDE
    from xgr.ops.tries import filters_of

    sizes = (8, 2)
    trie = trie_of(random_sids(np.random.default_rng(0), sizes, 40), sizes)
    leaves = len(np.asarray(trie.levels[1].code))
    alive = np.arange(leaves) >= leaves // 2
    filters = filters_of(trie, [EXCLUDE], [alive], [-1], [])
    logits = np.random.default_rng(1).normal(size=(1, 8)).astype(np.float32)
    whole = step(kernel, logits, 8, trie, normalize="children")
    part = step(kernel, logits, 8, trie, normalize="children", filters=filters)
    left = part["code"][: part["live_out"][0]]
    assert 0 < len(left) < whole["live_out"][0]
    np.testing.assert_array_equal(
        part["cumulative_out"][: len(left)], whole["cumulative_out"][left]
    )


def test_a_nan_is_reported_and_earlier_bits_stay() -> None:
    logits = np.array([[0, np.nan]], np.float32)
    status = np.array([2], np.int32)
    outputs = {"parent": np.int32, "code": np.int32, "node_out": np.int32}
    arrays: Values = {name: np.empty(2, kind) for name, kind in outputs.items()}
    live_out = np.empty(1, np.int32)
    xgr.runtime("cpu").beam_step(
        logits=logits,
        cumulative=np.zeros(1, np.float32),
        node=np.zeros(1, np.int32),
        row_start=np.array([0, 1], np.int32),
        live=np.ones(1, np.int32),
        row_start_out=np.array([0, 2], np.int32),
        out_width=np.array([2], np.int32),
        level=0,
        normalize="none",
        order="path",
        cumulative_out=np.empty(2, np.float32),
        live_out=live_out,
        status=status,
        **arrays,
    )
    assert status == [2 | NAN_LOGIT]
    assert live_out == [0]


@pytest.mark.parametrize("shape", [(1, 300_000), (40, 5_000), (2_100, 8_000)])
def test_many_candidates(shape: tuple[int, int]) -> None:
    """On both sides of 2^17 and 2^24, where limits of others lay."""
    rng = np.random.default_rng(0)
    logits = np.zeros(shape, np.float32)
    winners = np.append(np.unique(rng.integers(0, logits.size - 1, 50)), logits.size - 1)
    logits.reshape(-1)[winners] = 1 + rng.random(len(winners))
    got = step("cpu_ref.fast", logits, len(winners))
    np.testing.assert_array_equal(got["parent"].astype(np.int64) * shape[1] + got["code"], winners)


def test_offsets_beyond_int32() -> None:
    # rows far apart; of the memory in between only the pages that are touched exist
    rows, pitch = 514, 1 << 22
    memory = np.empty(rows * pitch, np.uint8)
    matrix = np.lib.stride_tricks.as_strided(memory, (rows, 1024), (pitch, 1))
    matrix[-1, 7] = 42
    count = np.zeros(rows, np.int64)
    count[-1] = 1
    assert (rows - 1) * pitch > 2**31
    assert pick(matrix, np.array([7], np.int32), count) == [42]


@pytest.mark.parametrize("width", [0, 1, 31, 32, 33, 1023, 1024, 1025, 5_000, 20_000])
@pytest.mark.parametrize("steps", [1, 3, 10**6])
def test_best_equals_a_stable_sort(width: int, steps: int) -> None:
    score = np.random.default_rng(width).integers(0, steps, 20_000).astype(np.float32)
    score[::5] = -np.inf
    expected = np.argsort(-score, kind="stable")[:width]
    expected = np.sort(expected[score[expected] > -np.inf])
    np.testing.assert_array_equal(best(score, width), expected)


@pytest.mark.parametrize("width", [1, 3, 7, 10, 12])
def test_equal_scores_far_apart(width: int) -> None:
    score = np.full(200_000, -1, np.float32)
    equal = np.arange(5, len(score), 20_000)
    score[equal] = 0
    expected = np.sort(np.argsort(-score, kind="stable")[:width])
    np.testing.assert_array_equal(best(score, width), expected)
    np.testing.assert_array_equal(cut(score, width), expected)

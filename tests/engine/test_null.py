"""The whole decode on arrays without values: nothing before the results waits for the device."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.engine.world import World
from xgr import Recommender
from xgr.engine import Request
from xgr.engine.decode import Decode
from xgr.engine.request import Prepared
from xgr.errors import ValueReadError

KV_MODES = ["ancestors", "reorder"]


def null_recommender(world: World, **options: Any) -> Recommender:
    recommender = world.recommender(device="null", dtype="float32", **options)
    recommender.store.current.register_filter("even", allow=range(0, 40, 2))
    return recommender


def prepare(recommender: Recommender, world: World, filtered: bool) -> list[Prepared]:
    """Three users; with filters of every kind, or none."""
    requests = [Request(world.prompt(range(n)), width) for n, width in ((3, 5), (9, [2, 9, 4]))]
    if filtered:
        requests.append(Request(world.prompt([1]), 8, exclude=[1, 2]))
        requests.append(Request(world.prompt([2]), 8, filters=["even"], allow=[2, 3, 4]))
        requests.append(Request(world.prompt([2]), 8, filters=["even"]))
    catalogue = recommender.store.current
    return [recommender.engine.prepare(request, catalogue) for request in requests]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Calls of the backend that make memory, by name."""
    from xgr.backends.null.backend import NullBackend

    calls: Counter[str] = Counter()
    for name in ("empty", "upload"):
        real = getattr(NullBackend, name)

        def count(self: Any, *args: Any, _name: str = name, _real: Any = real, **more: Any) -> Any:
            calls[_name] += 1
            return _real(self, *args, **more)

        monkeypatch.setattr(NullBackend, name, count)
    return calls


@pytest.mark.parametrize("kv_mode", KV_MODES)
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"normalize": "children"}, {"constrained": False}, {"end_tokens": (2, 9)}],
    ids=str,
)
def test_everything_is_launched_and_nothing_read(
    world: World, kv_mode: str, filtered: bool, options: dict[str, Any], counted: Counter[str]
) -> None:
    recommender = null_recommender(world, kv_mode=kv_mode, **options)
    engine, catalogue = recommender.engine, recommender.store.current
    prepared = prepare(recommender, world, filtered)
    first = engine.launch(prepared, catalogue)
    engine.launch(prepared, catalogue)
    assert counted["empty"] > 0
    counted.clear()
    batch = engine.launch(prepared, catalogue)
    assert batch.decode is first.decode
    assert not counted, "the second batch of a bucket asks for no memory"
    with pytest.raises(ValueReadError):
        engine.collect(batch)


def test_prompts_of_other_lengths_share_their_activations(world: World) -> None:
    recommender = null_recommender(world)
    engine, catalogue = recommender.engine, recommender.store.current

    def used_after(tokens: int) -> int:
        request = Request([1] * tokens, 8)
        engine.launch([engine.prepare(request, catalogue)], catalogue)
        return engine.rt.memory().used

    first = used_after(100)
    last = max(used_after(tokens) for tokens in (126, 5, 40, 70))
    hidden_states = 100 * engine.decoder.config.hidden_size * 4
    assert last - first < hidden_states, "only token ids are kept for each length"


@pytest.mark.parametrize("kv_mode", KV_MODES)
def test_a_decode_is_one_prefill_and_two_forwards(
    world: World, kv_mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xgr.backends.null import backend

    recommender = null_recommender(world, kv_mode=kv_mode)
    engine, catalogue = recommender.engine, recommender.store.current
    prepared = prepare(recommender, world, False)
    engine.launch(prepared, catalogue)
    launches: Counter[str] = Counter()
    real = backend._Launch.__call__

    def count(self: backend._Launch, **arguments: Any) -> None:
        launches[self._problem.op] += 1
        real(self, **arguments)

    monkeypatch.setattr(backend._Launch, "__call__", count)
    engine.launch(prepared, catalogue)
    layers = engine.decoder.config.num_layers
    want = {
        "beam_step": 3, "staged_attention": 2 * layers, "rope_kv": 2 * layers,
        "prefill_attention": layers, "rope_prefill": layers, "linear_lse": 3,
        "kv_reorder": int(kv_mode == "reorder"), "beam_ancestors": int(kv_mode == "ancestors"),
    }  # fmt: skip
    assert {op: launches[op] for op in want} == want


def test_a_step_that_reads_a_value_is_caught(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Decode._advance

    def stop_early(self: Decode, at: int) -> Any:
        if self.beams[at - 1].live[0] == 0:  # a shortcut that waits for the device
            return self._hidden
        return real(self, at)

    monkeypatch.setattr(Decode, "_advance", stop_early)
    recommender = null_recommender(world)
    with pytest.raises(ValueReadError, match="was read"):
        recommender.engine.launch(prepare(recommender, world, False), recommender.store.current)


def test_recommend_ends_where_results_are_read(world: World) -> None:
    with pytest.raises(ValueReadError):
        null_recommender(world).recommend([[3, 4]])

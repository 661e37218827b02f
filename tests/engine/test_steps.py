"""The outline of a decode step is what the engine binds and launches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.engine.world import World
from xgr.backends.null.backend import NullBackend
from xgr.engine import Request
from xgr.errors import InputError
from xgr.models.steps import decode_step
from xgr.ops.spec import Problem
from xgr.registry.bind import Bound
from xgr.runtime import Runtime


@pytest.mark.parametrize("kv_mode", ["reorder", "ancestors"])
@pytest.mark.parametrize("normalize", ["vocab", "children"])
@pytest.mark.parametrize("behind", [False, True])
def test_it_is_what_is_launched(
    world: World, monkeypatch: pytest.MonkeyPatch, kv_mode: str, normalize: str, behind: bool
) -> None:
    monkeypatch.setattr(NullBackend, "norms_behind", behind)
    launched: list[Problem] = []
    bind = Runtime.bind

    def logged(self: Runtime, op: str, problem: Problem, kernel: str | None = None) -> Bound:
        made: Any = bind(self, op, problem, kernel)

        def launch(**arguments: Any) -> None:
            launched.append(problem)
            made(**arguments)

        joined: Any = launch
        joined.choice, joined.plan = made.choice, made.plan
        found: Bound = joined
        return found

    monkeypatch.setattr(Runtime, "bind", logged)
    recommender = world.recommender(
        device="null", dtype="bfloat16", kv_mode=kv_mode, normalize=normalize
    )
    engine, catalogue = recommender.engine, recommender.store.current
    request = Request(world.prompt(range(3)), 8)
    engine.launch([engine.prepare(request, catalogue)], catalogue)
    levels = [at for at, problem in enumerate(launched) if problem.op == "beam_step"]
    # the last step: behind the beam step of the level before, with its own
    step = Counter(launched[levels[-2] + 1 : levels[-1] + 1])
    known = {axis: size for problem in step for axis, size in problem.sizes.items()}
    shared = next(p for p in step if p.op == "staged_attention").sizes
    config = engine.decoder.config
    sizes = {axis: shared[axis] for axis in "BRTSHGd"}
    sizes |= {"L": config.num_layers, "h": config.hidden_size, "I": config.intermediate_size}
    sizes |= {"V": config.vocab_size, "P": known["P"], "K": len(engine.token_ids[-1])}
    sizes["M"] = len(engine.token_ids[-2])
    told: Counter[Problem] = Counter()
    about = {"qk_norm": config.qk_norm, "norms_behind": behind}
    for one in decode_step(sizes, "bfloat16", kv_mode, normalize=normalize, **about):
        told[one.problem] += one.times
    assert told == step


def test_axes_that_are_missing_or_unknown_are_named() -> None:
    with pytest.raises(InputError, match=r"lacks \['G', .* unknown \['X'\]; axes: B \(requests\)"):
        list(decode_step({"B": 1, "X": 2}, "bfloat16", "reorder"))

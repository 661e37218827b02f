"""The calls of staged attention: no empty stage, and a core group for each stage."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ascend.fake_cann.calls import Launch, logged, order
from tests.ascend.runtime.fake import NPU
from xgr.conformance import Entry, Outcome, run_entry, table

FIA = "aclnnFusedInferAttentionScoreV4"
STAGED = [e for e in table("staged_attention", "npu") if e.kernel.startswith("ascend.")]
SPLIT = [entry for entry in STAGED if entry.kernel == "ascend.split"]


def run(entry: Entry) -> bool:
    """Whether the kernel takes the case, whose result is then right."""
    result = run_entry(entry)
    assert result.outcome in {Outcome.OK, Outcome.UNSUPPORTED}, "\n".join(result.notes)
    return result.outcome is Outcome.OK


def lengths(launch: Launch) -> Any:
    return launch.args["actual_seq_kvlen"]


@pytest.mark.parametrize("entry", STAGED, ids=[entry.id for entry in STAGED])
def test_no_call_has_an_empty_stage(entry: Entry) -> None:
    with logged() as calls:
        took = run(entry)
    if not took:
        return
    for launch in calls.named(FIA):
        assert min(lengths(launch)) >= 1
        assert all(size > 0 for size in launch.args["query"]["shape"])
    for merge in calls.named("aclnnAttentionUpdate"):
        assert len(merge.args["lse"]) == len(merge.args["local_out"]) == 2


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_stages_at_once_are_ordered_by_events(seed: int) -> None:
    with order(seed):
        for entry in SPLIT:
            run(entry)


def test_each_stage_has_a_stream_and_cores_of_its_own() -> None:
    with logged() as calls:
        took = [run(entry) for entry in SPLIT]
    assert any(took)
    device = NPU.get_device_properties(0)
    limited = [launch for launch in calls.named(FIA) if launch.cores[0] < device.cube_core_num]
    groups = {(launch.stream, launch.cores) for launch in limited}
    assert limited
    for launch in limited:
        others = [g for g in groups if g[0] != launch.stream and g[1] != launch.cores]
        assert any(
            launch.cores[0] + cores[0] <= device.cube_core_num
            and launch.cores[1] + cores[1] <= device.vector_core_num
            for _, cores in others
        ), f"no other stage runs on the cores that {launch.cores} leaves"
        assert launch.cores[1] == 2 * launch.cores[0], "a cube core has two vector cores"


def test_stages_that_do_not_wait_for_each_other_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NPU.Stream, "wait_stream", lambda self, other: None)
    wrong = 0
    for seed in range(1, 4):
        with order(seed):
            for entry in SPLIT:
                wrong += run_entry(entry).outcome is Outcome.FAIL
            NPU.synchronize()
    assert wrong

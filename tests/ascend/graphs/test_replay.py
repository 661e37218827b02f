"""Captured attention follows a batch's lengths; other layouts are recorded anew; on npu:0."""

from __future__ import annotations

from tests.ascend.device import need_torch_npu

need_torch_npu()

from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from tests.ascend.fake_cann.calls import order  # noqa: E402
from tests.ascend.recorded import in_blocks  # noqa: E402
from xgr.backends.ascend import graph  # noqa: E402
from xgr.backends.ascend.soc import CoreGroup  # noqa: E402
from xgr.backends.ascend.streams import STREAMS, Stream  # noqa: E402
from xgr.conformance.laid import with_outputs  # noqa: E402
from xgr.conformance.runner import expected  # noqa: E402
from xgr.ops import spec  # noqa: E402
from xgr.ops.spec import Case, Values  # noqa: E402
from xgr.runtime import Runtime, runtime  # noqa: E402

KERNELS = [
    ("shared_attention", "ascend.fia"),
    ("staged_attention", "ascend.fia"),
    ("staged_attention", "ascend.split"),
    ("prefill_attention", "ascend.fia"),
]
pytestmark = pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format")


@pytest.fixture(scope="module")
def rt() -> Runtime:
    return runtime("npu").lane()


class Captured:
    """A kernel in a graph, on arguments whose lengths may change."""

    def __init__(self, rt: Runtime, kernel: str, case: Case, host: Values) -> None:
        self.rt, self.case, self.declared = rt, case, spec(case.op)
        values = with_outputs(self.declared, host, case.sizes, case.dtype)
        self.bound = rt.bind(case.op, self.declared.problem(values, case.dtype), kernel)
        self.arguments: dict[str, Any] = {s.name: values[s.name] for s in self.declared.scalars}
        for arg in self.declared.args:
            value = values.get(arg.name)
            self.arguments[arg.name] = None if value is None else rt.upload(value)
        self.graph: Any = rt.capture(lambda: self.bound(**self.arguments))
        rt.synchronize()

    def run(self, host: Values) -> list[str]:
        """Plan and replay; complaints about the outputs."""
        for arg in self.declared.args:
            if arg.role == "out":
                array = self.arguments[arg.name]
                self.rt.write(array, np.full(array.shape, 7, np.float32).astype(
                    self.rt.fetch(array).dtype
                ))  # fmt: skip
            elif arg.dtype == "int32" and host.get(arg.name) is not None:
                self.rt.write(self.arguments[arg.name], host[arg.name])
        edges = host["row_start" if "row_start" in host else "q_start"]
        widths = np.diff(edges).tolist()
        self.bound.plan(host["prompt_start"].tolist(), host["prompt_len"].tolist(), widths)
        self.graph.replay()
        got = {a.name: self.rt.fetch(self.arguments[a.name]) for a in self.declared.outputs}
        want = expected(self.declared, self.case, host)
        return list(self.declared.compare(self.case, host, want, got))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_lengths_are_not_frozen(rt: Runtime, op: str, kernel: str, seed: int) -> None:
    for case, host in in_blocks(op):
        captured = Captured(rt, kernel, case, host)
        with order(seed), rt.stream():
            for turn in range(4):
                shorter = {**host, "prompt_len": host["prompt_len"] - [9 * turn, 0, 0]}
                shorter["prompt_len"] = shorter["prompt_len"].astype(np.int32)
                assert captured.run(shorter) == [], (case.id, turn)
        assert captured.graph._graph is not None
        assert captured.graph._recorded.tasks


def test_another_layout_is_launched_and_then_recorded(rt: Runtime) -> None:
    ((case, even), (_, uneven)) = [
        (c, h) for c, h in in_blocks("shared_attention")
        if c.sizes["d"] == 64 and h["prompt_len"].all()
    ]  # fmt: skip
    captured = Captured(rt, "ascend.fia", case, even)
    recorded = []
    with rt.stream():
        for host in (even, even, uneven, uneven, even, even):
            assert captured.run(host) == []
            recorded.append(captured.graph._graph is not None)
    assert recorded == [False, True, False, True, False, True]


def test_prompts_between_blocks_are_recorded_as_they_lie(rt: Runtime) -> None:
    """Dense calls are no task groups: the same lengths again replay, others are launched."""
    ((case, host),) = [
        (c, {**h, "prompt_start": np.array([512, 3, 384], np.int32)})
        for c, h in in_blocks("staged_attention")
        if c.sizes["d"] == 128 and h["prompt_len"].all() and h["row_start"][1] == 16
    ]
    longer = {**host, "prompt_len": np.array([310, 200, 8], np.int32)}
    captured = Captured(rt, "ascend.fia", case, host)
    recorded = []
    with rt.stream():
        for one in (host, host, host, longer, longer, longer):
            assert captured.run(one) == []
            recorded.append(captured.graph._graph is not None)
    assert recorded == [False, True, True, False, True, True]
    assert captured.graph._recorded.tasks == []


def test_a_graph_without_a_plan_is_launched_each_time(
    rt: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    case, host = next(in_blocks("shared_attention"))
    lone = rt.lane()
    captured = Captured(lone, "ascend.fia", case, host)
    for _ in range(3):
        captured.graph.replay()
    assert captured.graph._graph is None
    assert captured.graph.refused == ("attention without a plan reads its lengths from the device",)
    assert "launched one by one, not as a graph" in caplog.text


def test_a_plan_of_another_batch_size_is_refused(rt: Runtime) -> None:
    case, host = next(in_blocks("shared_attention"))
    bound = Captured(rt, "ascend.fia", case, host).bound
    with pytest.raises(ValueError, match=r"a plan of 1 starts, 1 lengths .* need 3 of each"):
        bound.plan([0], [1], [1])


def test_what_cannot_be_captured_fails_while_it_is() -> None:
    with pytest.raises(RuntimeError, match="cannot be captured: it reads"), graph._watching(True):
        graph.refuse("it reads the device")
    graph.refuse("outside of a graph nobody is told")


def test_streams_of_groups_are_not_handed_out_as_others(rt: Runtime) -> None:
    group = CoreGroup(5, 10)
    one, same = Stream(group), Stream(group)
    assert one.torch.npu_stream == same.torch.npu_stream
    others = {STREAMS.fresh().torch.npu_stream for _ in range(100)}
    assert one.torch.npu_stream not in others
    limit = rt.backend._npu.get_stream_limit(one.torch)  # type: ignore[attr-defined]
    assert (limit["cube_core_num"], limit["vector_core_num"]) == (5, 10)


def test_core_groups_of_the_backend(rt: Runtime) -> None:
    whole, shared, unshared = (rt.stream(group) for group in (0, 1, 2))
    assert whole.group is None  # type: ignore[attr-defined]
    cores = [stream.group.cube for stream in (shared, unshared)]  # type: ignore[attr-defined]
    assert sum(cores) == rt.backend.cores
    with pytest.raises(ValueError, match=r"core group 3, allowed: 0 \(all\)"):
        rt.stream(3)

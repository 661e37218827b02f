"""Captured graphs on the fake device: recorded, not run; replayed with the values of the moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.ascend.fake_cann.calls import order
from tests.ascend.runtime.fake import NPU, OPS, on_npu

SEEDS = range(8)


def captured(launch: Callable[[Any], object], stream: Any) -> Any:
    graph = NPU.NPUGraph()
    NPU.synchronize()
    with NPU.stream(stream):
        graph.capture_begin()
        launch(stream)
        graph.capture_end()
    return graph


def test_a_capture_runs_nothing_and_a_replay_reads_what_is_there_then() -> None:
    x, y = on_npu(torch.ones(4), torch.zeros(4))
    graph = captured(lambda _: torch.add(x, x, out=y), NPU.Stream())
    NPU.synchronize()
    assert y.cpu().tolist() == [0.0] * 4
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.cpu().tolist() == [2 * value] * 4


@pytest.mark.parametrize("seed", SEEDS)
def test_streams_forked_inside_a_capture_are_ordered_by_its_events(seed: int) -> None:
    x, y, z = on_npu(torch.ones(4), torch.zeros(4), torch.zeros(4))
    side = NPU.Stream()

    def forked(stream: Any) -> None:
        torch.add(x, x, out=y)
        side.wait_stream(stream)
        with NPU.stream(side):
            torch.mul(y, 3.0, out=z)
        stream.wait_stream(side)
        torch.add(z, y, out=y)

    with order(seed):
        graph = captured(forked, NPU.Stream())
        for value in (1.0, 2.0):
            x.fill_(value)
            graph.replay()
            assert (y.cpu()[0], z.cpu()[0]) == (8 * value, 6 * value)


def test_a_missing_event_inside_a_capture_shows_under_some_order() -> None:
    x, y, z = on_npu(torch.ones(4), torch.zeros(4), torch.zeros(4))
    side = NPU.Stream()

    def forked(stream: Any) -> None:
        side.wait_stream(stream)
        torch.add(x, x, out=y)
        with NPU.stream(side):
            torch.mul(y, 3.0, out=z)  # reads y without waiting for it
        stream.wait_stream(side)

    graph = captured(forked, NPU.Stream())
    found = set()
    for seed in range(1, 21):
        y.zero_()
        with order(seed):
            graph.replay()
            found.add(float(z.cpu()[0]))
    assert found == {0.0, 6.0}


def test_a_stream_that_is_not_joined_back_fails_the_capture() -> None:
    x, y = on_npu(torch.ones(4), torch.zeros(4))
    side = NPU.Stream()

    def left_open(stream: Any) -> None:
        side.wait_stream(stream)
        with NPU.stream(side):
            torch.add(x, x, out=y)

    with pytest.raises(RuntimeError, match="not joined back"):
        captured(left_open, NPU.Stream())


def test_waiting_for_the_device_inside_a_capture_is_refused() -> None:
    x, y = on_npu(torch.ones(4), torch.zeros(4))
    refused = []

    def fetching(stream: Any) -> None:
        torch.add(x, x, out=y)
        for wait in (y.cpu, stream.synchronize, NPU.synchronize):
            with pytest.raises(RuntimeError, match="while a graph is captured") as seen:
                wait()
            refused.append(seen)

    captured(fetching, NPU.Stream())
    assert len(refused) == 3


HEADS, GROUPS, SIZE, TOKENS = 4, 2, 64, 16


class Attention:
    """Attention whose lengths the host gives, as a graph must hold it."""

    def __init__(self) -> None:
        draw = torch.Generator().manual_seed(1)
        q = torch.randn((2, 1, HEADS, SIZE), generator=draw)
        k = torch.randn((2, TOKENS, GROUPS, SIZE), generator=draw)
        self.q, self.k = on_npu(q.bfloat16(), k.bfloat16())
        self.out, self.lse = torch.empty_like(self.q), on_npu(torch.empty(2, HEADS, 1, 1))
        self.known: dict[str, Any] = {
            "num_query_heads": HEADS,
            "num_key_value_heads": GROUPS,
            "input_layout": "BSND",
            "softmax_scale": 0.125,
            "return_softmax_lse": True,
        }
        self.space = OPS._npu_fused_infer_attention_score_v2_get_max_workspace(
            self.q, self.k, self.k, actual_seq_kvlen=[1, 1], **self.known
        )

    def launch(self, lengths: list[int]) -> None:
        OPS.npu_fused_infer_attention_score_v2.out(
            self.q,
            self.k,
            self.k,
            actual_seq_kvlen=lengths,
            workspace=self.space,
            out=[self.out, self.lse],
            **self.known,
        )

    def expected(self, lengths: list[int]) -> Tensor:
        lse: Tensor
        _, lse = OPS.npu_fused_infer_attention_score_v2(
            self.q, self.k, self.k, actual_seq_kvlen=lengths, **self.known
        )
        return lse.cpu()


@pytest.mark.parametrize("seed", SEEDS)
def test_lengths_are_frozen_until_they_are_updated(seed: int) -> None:
    attention, stream, handles = Attention(), NPU.Stream(), []

    def grouped(stream: Any) -> None:
        NPU.graph_task_group_begin(stream)
        attention.launch([3, 5])
        handles.append(NPU.graph_task_group_end(stream))

    with order(seed):
        graph = captured(grouped, stream)
        graph.replay()
        assert torch.equal(attention.lse.cpu(), attention.expected([3, 5]))
        with NPU.stream(stream):
            NPU.graph_task_update_begin(stream, handles[0])
            attention.launch([TOKENS, 1])
            NPU.graph_task_update_end(stream)
            graph.replay()
        assert torch.equal(attention.lse.cpu(), attention.expected([TOKENS, 1]))
        graph.replay()
        assert torch.equal(attention.lse.cpu(), attention.expected([TOKENS, 1]))


def test_an_update_that_no_replay_waits_for_comes_too_late_under_some_order() -> None:
    attention, handles = Attention(), []

    def grouped(stream: Any) -> None:
        NPU.graph_task_group_begin(stream)
        attention.launch([3, 5])
        handles.append(NPU.graph_task_group_end(stream))

    graph, other = captured(grouped, NPU.Stream()), NPU.Stream()
    old, new = attention.expected([3, 5]), attention.expected([TOKENS, 1])
    late = set()
    for seed in range(1, 21):
        with order(seed):
            for lengths in ([3, 5], [TOKENS, 1]):
                with NPU.stream(other):
                    NPU.graph_task_update_begin(other, handles[0])
                    attention.launch(lengths)
                    NPU.graph_task_update_end(other)
                if lengths == [3, 5]:
                    NPU.synchronize()
            graph.replay()
            found = attention.lse.cpu()
            assert torch.equal(found, old) or torch.equal(found, new)
            late.add(torch.equal(found, old))
    assert late == {True, False}


def test_an_update_must_make_the_calls_of_its_group() -> None:
    attention, handles, stream = Attention(), [], NPU.Stream()

    def grouped(stream: Any) -> None:
        NPU.graph_task_group_begin(stream)
        attention.launch([3, 5])
        handles.append(NPU.graph_task_group_end(stream))

    graph = captured(grouped, stream)
    with NPU.stream(stream):
        NPU.graph_task_update_begin(stream, handles[0])
        with pytest.raises(RuntimeError, match="launches aclnnInplaceAdds where the task group"):
            attention.lse.add_(1)
        with pytest.raises(RuntimeError, match="launched 0 calls, its task group has 1"):
            NPU.graph_task_update_end(stream)
        NPU.graph_task_update_begin(stream, handles[0])
        attention.launch([1, 1])
        with pytest.raises(RuntimeError, match="more than the 1 calls"):
            attention.launch([1, 1])
        NPU.graph_task_update_end(stream)
        graph.replay()
    assert torch.equal(attention.lse.cpu(), attention.expected([1, 1]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_waits_for_an_event_from_outside(seed: int) -> None:
    x, y = on_npu(torch.zeros(4), torch.zeros(4))
    stream, other, event = NPU.Stream(), NPU.Stream(), NPU.ExternalEvent()

    def waiting(stream: Any) -> None:
        event.wait(stream)
        event.reset(stream)
        torch.add(x, 1.0, out=y)

    graph = captured(waiting, stream)
    with order(seed):
        for value in (1.0, 2.0):
            with NPU.stream(stream):
                graph.replay()
            with NPU.stream(other):
                x.fill_(value)
                event.record(other)
            stream.synchronize()
            assert y.cpu().tolist() == [value + 1] * 4


def test_waiting_for_what_no_one_will_do_is_an_error_and_no_hang() -> None:
    stream, event = NPU.Stream(), NPU.ExternalEvent()
    graph = captured(event.wait, stream)
    with NPU.stream(stream):
        graph.replay()
    with pytest.raises(RuntimeError, match="the device would wait for ever"):
        stream.synchronize()
    with NPU.stream(NPU.Stream()):
        event.record()
    stream.synchronize()


@pytest.mark.parametrize(("mode", "refused"), [("global", True), ("thread_local", False)])
def test_who_may_wait_for_the_device_during_a_capture(mode: str, refused: bool) -> None:
    x, y = on_npu(torch.ones(4), torch.zeros(4))
    outcome: list[Any] = []

    def upload() -> None:
        try:
            outcome.append(on_npu(torch.full((4,), 2.0)).cpu().tolist())
        except RuntimeError as error:
            outcome.append(str(error))

    graph, stream = NPU.NPUGraph(), NPU.Stream()
    NPU.synchronize()
    with NPU.stream(stream):
        graph.capture_begin(capture_error_mode=mode)
        torch.add(x, x, out=y)
        other = threading.Thread(target=upload)
        other.start()
        other.join()
        with pytest.raises(RuntimeError, match="while a graph is captured"):
            x.cpu()
        graph.capture_end()
    assert (outcome != [[2.0] * 4]) == refused
    graph.replay()
    assert y.cpu().tolist() == [2.0] * 4

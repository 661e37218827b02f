"""On `npu:0` tensors the operators launch the kernels, on the current stream and in graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ascend.device import need_torch_npu

need_torch_npu()

import torch  # noqa: E402

from tests.ascend.fake_cann.calls import logged  # noqa: E402
from tests.ascend.glue.library import built  # noqa: E402
from xgr.backends.ascend import _compat  # noqa: E402
from xgr.conformance.laid import with_outputs  # noqa: E402
from xgr.conformance.runner import expected  # noqa: E402
from xgr.ops import spec  # noqa: E402
from xgr.ops.spec import Case  # noqa: E402

NPU: Any = _compat.npu()
torch.ops.load_library(str(built()))  # type: ignore[no-untyped-call]
OPS = torch.ops.xgr_ascend
CORES = 20


def on_device(value: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(value)).to("npu")


def tiled(name: str, **sizes: int) -> dict[str, Any]:
    words = getattr(OPS, f"{name}_tiling")(**sizes, cores=CORES)
    return {"tiling": words.to("npu"), "cores": int(words[1])}


def level_of(host: dict[str, Any]) -> dict[str, Any]:
    trie, level = host["trie"], host["level"]
    return {
        "descriptor": None,
        "codes": on_device(trie.levels[level].code),
        "first_child": on_device(trie.levels[level - 1].first_child) if level else None,
        "level": level,
        "nodes_here": len(trie.levels[level].code),
        "nodes_above": len(trie.levels[level - 1].code) if level else 0,
    }


NO_FILTERS = {
    **dict.fromkeys(("kind", "mask", "list_start", "listed", "words")),
    "mask_pitch": 0,
}
NO_LEVEL = {
    **dict.fromkeys(("descriptor", "codes", "first_child")),
    **dict.fromkeys(("level", "nodes_here", "nodes_above"), 0),
}


def sort(a: dict[str, int], host: dict[str, Any], t: dict[str, Any]) -> None:
    words = tiled("beam_topk", B=a["B"], R=a["R"], C=a["C"], RO=a["RO"])
    workspace = torch.empty(1 << 20, dtype=torch.uint8).to("npu")
    OPS.beam_topk(
        **{k: v for k, v in t.items() if k != "order"}, ranked=host["order"] == "rank",
        **NO_LEVEL, node=None, node_out=None, status=None, workspace=workspace, **words,
    )  # fmt: skip


def mask(a: dict[str, int], host: dict[str, Any], t: dict[str, Any]) -> None:
    names = ("scores", "node", "row_start", "live", "out")
    OPS.mask_filter(
        **{name: t[name] for name in names}, lse=None, normalize=0, **level_of(host),
        **NO_FILTERS, **tiled("mask_filter", B=a["B"], R=a["R"], K=a["K"]),
    )  # fmt: skip


def move(a: dict[str, int], host: dict[str, Any], t: dict[str, Any]) -> None:
    step, item = host["step"], host["k"].itemsize
    OPS.kv_reorder(**t, step=step, **tiled("kv_reorder", **a, itemsize=item, step=step))


CASES: list[tuple[Case, Callable[..., None]]] = [
    (
        Case("beam_sort", {"B": 2, "R": 9, "C": 70, "RO": 30}, flags={"order": o, "data": "ties"}),
        sort,
    )
    for o in ("path", "rank")
]
CASES += [
    (Case("mask_filter", {"B": 2, "R": 9, "K": 33}, flags={"level": 1, "live": "some"}), mask),
    (
        Case(
            "kv_reorder",
            {"L": 2, "R": 21, "S": 3, "G": 2, "d": 16, "B": 3},
            flags={"step": 2, "parents": "unsorted", "live": "all"},
        ),
        move,
    ),
]


def run(case: Case, launch: Callable[..., None]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The device arrays of a launched case, and host values."""
    declared = spec(case.op)
    host = declared.build(case)
    values = with_outputs(declared, host, case.sizes, case.dtype)
    tensors = {n: on_device(v) for n, v in values.items() if isinstance(v, np.ndarray)}
    launch(dict(case.sizes), host, tensors)
    return tensors, host


@pytest.mark.parametrize(("case", "launch"), CASES, ids=lambda x: getattr(x, "id", ""))
def test_kernels_run_on_device_tensors(case: Case, launch: Callable[..., None]) -> None:
    with logged() as calls:
        tensors, host = run(case, launch)
        NPU.synchronize()
    # a selection in path order is two launches, in rank order three
    launches = {"path": 2, "rank": 3}.get(str(case.flags.get("order")), 1)
    assert [one.name for one in calls.launches].count("fake_acl_launch") == launches
    declared = spec(case.op)
    want = expected(declared, case, host)
    got = {name: tensors[name].cpu().numpy() for name in want}
    assert not declared.compare(case, host, want, got)


def rows(count: int) -> dict[str, Any]:
    """A request whose rows all take the row behind them, the last its own."""
    parents = np.minimum(np.arange(count) + 1, count - 1).astype(np.int32)
    k = np.arange(count, dtype=np.float32).reshape(1, count, 1, 1, 1).repeat(8, 4)
    return {
        "k": on_device(k), "v": on_device(k), "parent": on_device(parents),
        "row_start": on_device(np.array([0, count], np.int32)),
        "live": on_device(np.array([count], np.int32)),
        "status": on_device(np.zeros(1, np.int32)),
    }  # fmt: skip


def test_a_captured_launch_runs_at_each_replay_and_not_before() -> None:
    tensors = rows(6)
    words = tiled("kv_reorder", B=1, L=1, R=6, S=1, G=1, d=8, itemsize=4, step=1)
    graph = NPU.NPUGraph()
    with NPU.graph(graph):
        OPS.kv_reorder(**tensors, step=1, **words)
    NPU.synchronize()
    assert tensors["k"][0, :, 0, 0, 0].cpu().tolist() == [0, 1, 2, 3, 4, 5]
    for want in ([1, 2, 3, 4, 5, 5], [2, 3, 4, 5, 5, 5]):
        graph.replay()
        NPU.synchronize()
        assert tensors["k"][0, :, 0, 0, 0].cpu().tolist() == want
        assert tensors["v"][0, :, 0, 0, 0].cpu().tolist() == want


def test_launches_are_on_the_current_stream() -> None:
    stream = NPU.Stream()
    words = tiled("kv_reorder", B=1, L=1, R=6, S=1, G=1, d=8, itemsize=4, step=1)
    tensors = rows(6)
    NPU.synchronize()
    with logged() as calls, NPU.stream(stream):
        OPS.kv_reorder(**tensors, step=1, **words)
    NPU.synchronize()
    (ours,) = [one for one in calls.launches if one.name == "fake_acl_launch"]
    assert ours.stream != 0


def test_views_are_taken_by_their_strides() -> None:
    tensors = rows(6)
    for name in ("k", "v"):
        wide = torch.full((1, 6, 1, 1, 11), 77.0).to("npu")
        wide[..., :8].copy_(tensors[name])
        tensors[name] = wide[..., :8]
    words = tiled("kv_reorder", B=1, L=1, R=6, S=1, G=1, d=8, itemsize=4, step=1)
    OPS.kv_reorder(**tensors, step=1, **words)
    assert tensors["k"][0, :, 0, 0, 3].cpu().tolist() == [1, 2, 3, 4, 5, 5]


def test_a_hazard_on_the_device_is_reported() -> None:
    tensors = rows(6)
    words = tiled("kv_reorder", B=1, L=1, R=6, S=1, G=1, d=8, itemsize=4, step=1)
    # a piece of no bytes that fit: the kernel reserves more than there is
    broken = words["tiling"].cpu()
    broken[7] = 1 << 20
    words["tiling"] = broken.to("npu")
    OPS.kv_reorder(**tensors, step=1, **words)
    with pytest.raises(RuntimeError, match="unified buffer overflow"):
        NPU.synchronize()

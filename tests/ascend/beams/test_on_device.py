"""The beam ops on `npu:0` under the fake CANN: launches, swaps of the catalogue, wide requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.ascend.device import need_torch_npu

need_torch_npu()

from tests.ascend.beams.library import need_library  # noqa: E402  skipped before
from tests.ascend.fake_cann.calls import logged  # noqa: E402
from xgr.backends.recording import Spaces  # noqa: E402
from xgr.catalog import Catalogue  # noqa: E402
from xgr.catalog.device import FilterBuffers, Served  # noqa: E402
from xgr.ops import spec  # noqa: E402
from xgr.ops.beam_step import NAN_LOGIT, TOO_WIDE  # noqa: E402
from xgr.ops.spec import Case  # noqa: E402
from xgr.ops.tries import random_sids  # noqa: E402
from xgr.runtime import Runtime, runtime  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format")

SIZES = (6, 30, 7)
KERNELS = ["ascend.ascendc", "ascend.torch"]


@pytest.fixture(scope="module")
def rt() -> Runtime:
    need_library()
    return runtime("npu")


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every graph that is recorded."""
    found: list[Any] = []
    record = Spaces.record

    def counted(self: Spaces, launch: Any) -> Any:
        found.append(launch)
        return record(self, launch)

    monkeypatch.setattr(Spaces, "record", counted)
    return found


def a_case(op: str, **flags: str | int | bool) -> Case:
    stated: dict[str, str | int | bool] = {"level": 1, "normalize": "vocab", "order": "path"}
    return Case(op, {"B": 2, "R": 8, "K": 30, "RO": 12}, flags=stated | flags)


@pytest.mark.parametrize(("order", "phases"), [("path", 2), ("rank", 3)])
def test_a_beam_step_is_a_few_launches_of_the_devices_own_kernels(
    order: str, phases: int, rt: Runtime
) -> None:
    """The scores, then the phases of the selection; no call of the library's between them."""
    arguments = step_arguments(rt, Served(rt, masks=1), a_catalogue(200), None)
    arguments["order"] = order
    launch = bound(rt, arguments, "ascend.ascendc")

    with logged() as calls:
        launch(**arguments)

    assert [call.name for call in calls.launches] == ["fake_acl_launch"] * (1 + phases)


def test_a_reorder_of_all_layers_is_one_launch(rt: Runtime) -> None:
    sizes = {"L": 5, "R": 21, "S": 3, "G": 2, "d": 64, "B": 3}
    case = Case("kv_reorder", sizes, "bfloat16", {"step": 2})
    declared = spec(case.op)
    host = declared.build(case)
    arguments = {n: rt.upload(v) if isinstance(v, np.ndarray) else v for n, v in host.items()}
    launch = rt.bind(case.op, declared.problem(host, "bfloat16"), "ascend.ascendc")

    with logged() as calls:
        launch(**arguments)

    assert [call.name for call in calls.launches] == ["fake_acl_launch"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_captured_step_follows_a_swap(kernel: str, rt: Runtime, recordings: list[Any]) -> None:
    """AscendC reads the descriptor; torch calls are launched one by one, and recorded again."""
    served, buffers = Served(rt, masks=2), FilterBuffers(rt, 3, 2, 64)
    before = a_catalogue(60)
    arguments = step_arguments(rt, served, before, buffers)
    launch = bound(rt, arguments, kernel)
    # what the graph launches when it is not replayed
    given = dict(arguments)
    captured = rt.capture(lambda: launch(**given))
    seen = []
    for catalogue in (before, before, a_catalogue(500), before):
        given |= catalogue_arguments(rt, served, catalogue, buffers)
        for _ in range(3):
            rt.write(given["status"], [0, 0])
            captured.replay()
            got = outputs(rt, given)
        wanted = on_the_host(catalogue)
        for name, value in wanted.items():
            np.testing.assert_array_equal(got[name], value, err_msg=name)
        seen.append(got["node_out"].tolist())

    assert seen[0] != seen[2]
    # the second catalogue and the first one again
    assert len(recordings) == (1 if kernel == "ascend.ascendc" else 3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_nan_empties_its_request_alone(kernel: str, rt: Runtime) -> None:
    arguments = step_arguments(rt, Served(rt, masks=1), a_catalogue(500), None)
    logits = rt.fetch(arguments["logits"])
    logits[: rt.fetch(arguments["row_start"])[1]] = np.nan
    rt.write(arguments["logits"], logits)

    bound(rt, arguments, kernel)(**arguments)

    got = outputs(rt, arguments)
    assert got["status"].tolist() == [NAN_LOGIT, 0]
    assert got["live_out"][0] == 0
    assert got["live_out"][1] > 0


def test_a_request_that_is_too_wide_is_told_by_its_status(rt: Runtime) -> None:
    """With two requests the rows of one alone exceed what a core sorts."""
    wide = 3073
    flags: dict[str, str | int | bool] = {"level": 1, "normalize": "none", "order": "rank"}
    sizes = {"B": 2, "R": 4, "K": 1600, "RO": wide + 8}
    host = spec("beam_step").build(Case("beam_step", sizes, flags={**flags, "trie": False}))
    host["row_start_out"] = np.array([0, 8, wide + 8], np.int32)
    host["out_width"] = np.array([8, wide], np.int32)
    host["status"][:] = 0
    arguments = laid(rt, host) | blank(rt, wide + 8, 2)

    bound(rt, arguments, "ascend.ascendc")(**arguments)

    got = outputs(rt, arguments)
    assert got["status"].tolist() == [0, TOO_WIDE]
    assert got["live_out"].tolist() == [8, 0]
    assert (got["node_out"][8:] == -1).all()


def a_catalogue(items: int) -> Catalogue:
    rng = np.random.default_rng(items)
    catalogue = Catalogue.from_sids(random_sids(rng, SIZES, items), level_sizes=SIZES)
    catalogue.register_filter("odd", allow=range(1, 40, 2))
    return catalogue


def catalogue_arguments(
    rt: Runtime, served: Served, catalogue: Catalogue, buffers: FilterBuffers | None
) -> dict[str, Any]:
    """The trie, and filters where there are buffers."""
    if buffers is None:
        return {"trie": served.trie(catalogue), "filters": None}
    words = served.words(catalogue)
    chosen = [catalogue.filter(named=["odd"]), catalogue.filter(exclude=range(30))]
    buffers.write(chosen, served)
    return {"trie": served.trie(catalogue), "filters": buffers.over(words)}


def step_arguments(
    rt: Runtime, served: Served, catalogue: Catalogue, buffers: FilterBuffers | None
) -> dict[str, Any]:
    host = spec("beam_step").build(a_case("beam_step"))
    host["status"][:] = 0
    given = catalogue_arguments(rt, served, catalogue, buffers)
    return laid(rt, host) | blank(rt, 12, 2) | given


def on_the_host(catalogue: Catalogue) -> dict[str, Any]:
    """What the CPU makes of the same."""
    cpu = runtime("cpu")
    served, buffers = Served(cpu, masks=2), FilterBuffers(cpu, 3, 2, 64)
    arguments = step_arguments(cpu, served, catalogue, buffers)
    bound(cpu, arguments, None)(**arguments)
    return outputs(cpu, arguments)


def laid(rt: Runtime, host: Mapping[str, Any]) -> dict[str, Any]:
    return {n: rt.upload(v) if isinstance(v, np.ndarray) else v for n, v in host.items()}


def blank(rt: Runtime, rows: int, requests: int) -> dict[str, Any]:
    """Outputs that nothing has written."""
    found: dict[str, Any] = {n: rt.upload([9] * rows) for n in ("parent", "code", "node_out")}
    return found | {
        "cumulative_out": rt.upload([9.0] * rows),
        "live_out": rt.upload([9] * requests),
    }


def bound(rt: Runtime, arguments: dict[str, Any], kernel: str | None) -> Any:
    problem = spec("beam_step").problem(arguments, "float32")
    return rt.bind("beam_step", problem, kernel)


def outputs(rt: Runtime, arguments: dict[str, Any]) -> dict[str, Any]:
    names = ("parent", "code", "node_out", "cumulative_out", "live_out", "status")
    return {name: rt.fetch(arguments[name]) for name in names}

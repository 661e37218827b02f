"""The table of chips, what a device says in its place, and how cores are divided."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xgr.backends.ascend.backend import AscendBackend
from xgr.backends.ascend.soc import SOCS, divided, measured, partition, spec
from xgr.errors import BackendMissing, InputError
from xgr.ops.dtype import float32


def test_figures_of_the_two_that_are_planned_for() -> None:
    large, small = spec("Ascend910B1"), spec("Ascend910B3")
    assert (large.cube_cores, large.vector_cores) == (24, 48)
    assert (small.cube_cores, small.vector_cores) == (20, 40)
    assert large.usable_ub == small.usable_ub == 188_160


def test_an_unknown_chip_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'Ascend310P' is not known; known: Ascend910B1, "):
        spec("Ascend310P")


def test_the_device_overrides_the_table_and_is_named() -> None:
    told = SimpleNamespace(
        name="Ascend910B4", cube_core_num=20, vector_core_num=40, L2_cache_size=96
    )
    found = measured(SOCS["Ascend910B4"], told)
    assert (found.cube_cores, found.l2) == (20, 96)
    assert found.source.endswith("; l2: the device's properties")
    silent = SimpleNamespace(name="Ascend910B4")
    assert measured(SOCS["Ascend910B4"], silent) is SOCS["Ascend910B4"]


def test_a_chip_that_is_not_in_the_table_must_tell_its_cores() -> None:
    told = SimpleNamespace(name="Ascend910C9", cube_core_num=30, vector_core_num=60)
    assert measured(None, told).vector_cores == 60
    with pytest.raises(InputError, match="does not tell its cores"):
        measured(None, SimpleNamespace(name="Ascend910C9"))


@given(st.sampled_from(sorted(SOCS)), st.floats(0, 1e15), st.floats(0, 1e15))
def test_groups_share_out_every_core_in_the_ratio(
    name: str, shared: float, unshared: float
) -> None:
    soc = spec(name)
    if shared + unshared == 0:
        with pytest.raises(InputError, match="not both 0"):
            partition(soc, shared, unshared)
        return
    first, second = partition(soc, shared, unshared)
    assert first.cube + second.cube == soc.cube_cores
    assert first.vector + second.vector == soc.vector_cores
    for group in (first, second):
        assert group.cube >= 1
        assert group.vector == 2 * group.cube
    if shared > 3 * unshared:
        assert first.cube > second.cube


def test_a_group_needs_a_core() -> None:
    with pytest.raises(InputError, match=r"shared=24 AIC of 24, need 1\.\.23"):
        divided(spec("Ascend910B1"), 24)


def test_a_planned_chip_has_choices_and_no_arrays() -> None:
    backend = AscendBackend("Ascend910B3")
    assert (backend.cores, backend.arch, backend.device) == (20, "dav_2201", "ascend910b3")
    for attempt in (
        lambda: backend.empty((1,), float32),
        lambda: backend.upload([1]),
        backend.stream,
        backend.event,
        backend.synchronize,
        backend.memory,
        lambda: backend.capture(lambda: None),
    ):
        with pytest.raises(BackendMissing, match="Ascend910B3 is planned for, not present"):
            attempt()

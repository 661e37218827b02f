from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.engine.world import World, make_world
from xgr import Recommender


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny tensors: more threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A Qwen3 of two layers and 40 items of 3 levels; items 0 and 39 share a SID."""
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def recommender(world: World) -> Recommender:
    """One lane, batches of at most 8; filters registered by a test stay for the session."""
    return world.recommender()

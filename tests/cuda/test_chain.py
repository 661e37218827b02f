"""Chained kernels, as compiled: nothing is touched before the wait for the launch before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.cuda.interpreter import need_interpreter
from tests.cuda.test_compile import compiled

need_interpreter()

OPS = (
    "beam_ancestors", "embed", "kv_append", "rms_norm", "rope_kv", "rope_paged",
    "rope_prefill", "swiglu",
)  # fmt: skip
WAIT, LAUNCH = "griddepcontrol.wait", "griddepcontrol.launch_dependents"


def assembly(path: Path, arch: str, ops: Sequence[str]) -> Mapping[str, str]:
    """PTX of every binary of a sample of some ops, by file."""
    chosen = [word for op in ops for word in ("--op", op)]
    done = compiled("--sample", *chosen, arch=arch, environment={"TRITON_CACHE_DIR": str(path)})
    assert done.returncode == 0, done.stdout + done.stderr
    found = {f"{one.parent.name}/{one.name}": one.read_text() for one in path.rglob("*.ptx")}
    assert len(found) >= len(ops)
    return found


@pytest.fixture(scope="module")
def hopper(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return assembly(tmp_path_factory.mktemp("sm_90"), "90", OPS)


def test_every_program_waits_before_it_touches_memory(hopper: Mapping[str, str]) -> None:
    for name, text in hopper.items():
        before, wait, _ = text.partition(WAIT)
        assert wait, name
        touched = ("ld.global", "st.global", "cp.async", "atom.", "red.")
        assert not any(word in before for word in touched), name
        assert not any(word in before for word in ("bra", "ret;")), f"{name}: some do not wait"


def test_the_next_launch_may_begin_at_once(hopper: Mapping[str, str]) -> None:
    assert all(LAUNCH in text.partition(WAIT)[0] for text in hopper.values())


def test_norms_are_fetched_ahead(hopper: Mapping[str, str]) -> None:
    norms = [text for name, text in hopper.items() if name.endswith("_rms_norm.ptx")]
    assert norms
    assert all("prefetch.global.L2" in text.partition(WAIT)[0] for text in norms)


def test_an_older_machine_has_no_chains(tmp_path: Path) -> None:
    texts = assembly(tmp_path, "80", ("embed", "rms_norm")).values()
    assert not any("griddepcontrol" in text or "prefetch" in text for text in texts)

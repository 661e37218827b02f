"""What the records of the AscendC beam kernels promise and refuse, without a device."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xgr.backends import ascend
from xgr.backends.ascend import _compat, beams
from xgr.backends.ascend.ascendc import library
from xgr.engine.results import _STATUS
from xgr.ops.beam_step import NAN_LOGIT, TOO_WIDE
from xgr.ops.kv_reorder import BAD_PARENT
from xgr.ops.spec import Problem
from xgr.registry.kernel import Kernel

CSRC = Path(ascend.__file__).parent / "csrc"


def ascendc(op: str) -> Kernel:
    return next(k for k in beams.BEAM_KERNELS if (k.op, k.name) == (op, "ascend.ascendc"))


def codes(op: str, **sizes: int) -> list[str]:
    return [reason.code for reason in ascendc(op).unsupported(Problem.of(op, **sizes))]


def test_limits_and_bits_are_those_of_the_kernels() -> None:
    source = (CSRC / "kernels" / "layout.h").read_text(encoding="utf-8")
    stated = dict(re.findall(r"constexpr int (\w+) = (\d+);", source))

    assert int(stated["MOST_SURVIVORS"]) == beams.MOST_SURVIVORS
    assert int(stated["MOST_REQUESTS"]) == beams.MOST_REQUESTS
    bits = [int(stated[name]) for name in ("NAN_LOGIT", "BAD_PARENT", "TOO_WIDE")]
    assert bits == [NAN_LOGIT, BAD_PARENT, TOO_WIDE]


def test_every_bit_of_status_has_a_sentence() -> None:
    assert sorted(_STATUS) == [NAN_LOGIT, BAD_PARENT, TOO_WIDE]


@pytest.mark.parametrize("op", ["beam_step", "beam_sort"])
def test_a_request_wider_than_a_core_sorts_is_refused(op: str) -> None:
    axis = "K" if op == "beam_step" else "C"

    assert codes(op, B=1, R=9, RO=3072, **{axis: 50}) == []
    assert codes(op, B=1, R=9, RO=3073, **{axis: 50}) == ["limit"]


def test_rows_of_many_requests_are_no_width() -> None:
    """Of a batch's rows nothing follows but for beam_sort, which has no status to tell."""
    assert codes("beam_step", B=32, R=16384, RO=16384, K=8192) == []
    assert codes("beam_sort", B=32, R=16384, RO=16384, C=8192) == ["limit"]
    assert codes("kv_reorder", B=2000, R=16384, S=3, L=28, G=8, d=128) == []


def test_a_missing_library_is_named_where_there_is_an_npu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_compat, "missing", lambda: iter(()))
    monkeypatch.setattr(library, "is_loaded", lambda: False)
    monkeypatch.setenv(library.VARIABLE, str(tmp_path / "absent.so"))
    library.load.cache_clear()
    try:
        (reason,) = ascendc("kv_reorder").unsupported(Problem.of("kv_reorder", B=1, R=2))
    finally:
        library.load.cache_clear()

    assert reason.code == "library"
    assert "absent.so" in reason.got
    assert "cmake" in reason.hint
    assert library.VARIABLE in reason.hint

"""The legality of library calls, against the documents' sentences and for random calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xgr.backends.ascend import constraints
from xgr.backends.ascend.constraints import Fia, fia
from xgr.backends.ascend.kernels import KERNELS
from xgr.ops import spec
from xgr.ops.spec import Problem

GOOD = Fia("BSND", "bfloat16", 4, 128, 16, 8, 128, [100, 7, 2048, 1], block=128)


def codes(call: Fia) -> set[str]:
    return {reason.code for reason in fia(call)}


def test_a_good_call_has_no_reason_against_it() -> None:
    assert codes(GOOD) == set()
    assert codes(replace(GOOD, block=0)) == set()
    assert codes(replace(GOOD, layout="TND")) == set()
    assert codes(replace(GOOD, sparse_mode=3)) == set()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dtype": "float32"}, "dtype"),
        ({"size": 136}, "d"),
        ({"size": 528}, "d"),
        ({"size": 0}, "d"),
        ({"heads": 257, "kv_heads": 257}, "heads"),
        ({"heads": 15}, "groups"),
        ({"heads": 130, "kv_heads": 2}, "groups"),
        ({"kv_heads": 0}, "groups"),
        ({"batch": 65537}, "batch"),
        ({"kv_lengths": [1, 2, 0, 3]}, "keys"),
        ({"kv_lengths": [1, 2, 3]}, "lengths"),
        ({"queries": 1, "kv_lengths": [262145, 1, 1, 1]}, "keys"),
        ({"block": 64}, "block"),
        ({"block": 640}, "block"),
        ({"queries": 1, "block": 24}, "block"),
        ({"kv_heads": 256, "heads": 256, "size": 256}, "block"),
        ({"layout": "TND", "size": 64}, "layout"),
        ({"layout": "TND", "size": 96}, "layout"),
        ({"layout": "TND", "block": 0}, "blocks"),
        ({"layout": "TND", "batch": 4097, "kv_lengths": [1] * 4097}, "lengths"),
        ({"sparse_mode": 1}, "sparse_mode"),
        ({"sparse_mode": 3, "queries": 1}, "sparse_mode"),
    ],
)
def test_each_limit_is_named(change: dict[str, Any], code: str) -> None:
    assert code in codes(replace(GOOD, **change))


def test_reasons_say_what_was_given_and_what_is_allowed() -> None:
    (reason,) = fia(replace(GOOD, dtype="float32"))
    assert str(reason) == (
        "dtype: got float32, need float16 or bfloat16 (load the model in bfloat16)"
    )
    (reason,) = fia(replace(GOOD, kv_lengths=[5, 0, 5, 5]))
    assert "leave the call out" in reason.hint


def test_one_query_takes_smaller_blocks_and_many_do_not() -> None:
    assert "block" not in codes(replace(GOOD, queries=1, block=16))
    assert "block" in codes(replace(GOOD, queries=2, block=16))


sizes = st.integers(1, 40)
calls = st.builds(
    Fia,
    layout=st.sampled_from(["BSND", "TND"]),
    dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
    batch=sizes,
    queries=st.integers(1, 600),
    heads=st.integers(1, 300),
    kv_heads=st.integers(0, 64),
    size=st.integers(1, 600),
    kv_lengths=st.lists(st.integers(0, 300_000), min_size=1, max_size=40),
    block=st.sampled_from([0, 16, 64, 128, 256, 512, 1024]),
    sparse_mode=st.sampled_from([0, 3, 4]),
)


@given(calls)
def test_a_legal_call_keeps_every_documented_limit(call: Fia) -> None:
    if codes(call):
        return
    assert call.dtype in {"float16", "bfloat16"}
    assert call.size % 16 == 0
    assert call.size <= 512
    assert call.heads <= 256
    assert call.heads % call.kv_heads == 0
    assert call.heads // call.kv_heads <= 64
    assert len(call.kv_lengths) == call.batch
    assert min(call.kv_lengths) >= 1
    if call.layout == "TND":
        assert call.size == 128 or (call.size == 64 and call.heads == call.kv_heads)
        assert call.block
    if call.block:
        assert call.block % (16 if call.layout == "BSND" and call.queries == 1 else 128) == 0


@given(st.integers(1, 16), st.integers(1, 16), st.sampled_from([16, 64, 96, 128, 256, 512]))
def test_what_models_use_is_legal(groups: int, ratio: int, size: int) -> None:
    heads = groups * ratio
    assert not list(constraints.fia_heads("bfloat16", heads, groups, size))
    packed = not list(constraints.tnd(heads, groups, size))
    assert packed == (size == 128 or (size == 64 and ratio == 1))


@given(st.sampled_from(["float32", "bfloat16", "float64"]), st.integers(0, 20), st.integers(0, 600))
def test_merges(dtype: str, parts: int, size: int) -> None:
    found = {r.code for r in constraints.attention_update(dtype, parts, size)}
    assert ("dtype" in found) == (dtype == "float64")
    assert ("parts" in found) == (not 1 <= parts <= 16)
    assert ("d" in found) == (size % 8 != 0 or not 8 <= size <= 512)


@given(st.integers(0, 2000), st.integers(0, 1000))
def test_rotations(heads: int, size: int) -> None:
    found = {r.code for r in constraints.rotary_mul(heads, size)}
    assert ("heads" in found) == (not 1 <= heads < 1000)
    assert ("d" in found) == (size % 2 != 0 or not 2 <= size < 896)


@pytest.mark.parametrize(
    ("op", "sizes", "code"),
    [
        ("rope_kv", {"H": 900, "G": 100, "d": 64, "R": 1, "S": 1, "B": 1, "P": 1}, "heads"),
        ("unshared_attention", {"H": 4, "G": 2, "d": 64, "R": 65537, "S": 3, "B": 1}, "batch"),
        ("staged_attention", {"H": 4, "G": 2, "d": 40, "R": 8, "S": 3, "B": 1, "T": 128}, "d"),
    ],
)
def test_a_problem_beyond_a_limit_is_refused_with_it(
    op: str, sizes: dict[str, int], code: str
) -> None:
    flags = {a.name: False for a in spec(op).args if a.optional}
    problem = Problem.of(op, "bfloat16", flags, **sizes)
    (kernel, *_) = (k for k in KERNELS if k.op == op and k.priority == 10)
    assert code in {reason.code for reason in kernel.unsupported(problem)}

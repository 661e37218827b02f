"""What the fake CANN refuses: calls it does not know, and what the documents of a call forbid."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from tests.ascend.fake_cann import symbols
from tests.ascend.fake_cann.build import MAIN, build
from tests.ascend.fake_cann.calls import logged
from tests.ascend.runtime.fake import NPU, OPS, on_npu


def test_a_call_that_is_not_implemented_raises_with_its_name() -> None:
    x = on_npu(torch.ones(4))
    with pytest.raises(RuntimeError, match="aclnnErfGetWorkspaceSize is not implemented"):
        torch.erf(x)


def test_no_name_that_torch_npu_looks_up_is_missing_or_succeeds_by_itself() -> None:
    library = ctypes.CDLL(str(build() / MAIN))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    library.fake_cann_unimplemented.argtypes = [ctypes.c_char_p]
    names = symbols.looked_up() | symbols.linked()
    ours = symbols.defined([build() / MAIN])
    assert names <= ours
    assert len(names) > 1500
    stubs = [name for name in names if name.startswith("aclnn") and not implemented(library, name)]
    assert len(stubs) > 1500
    for name in stubs:
        assert getattr(library, name)() != 0, f"{name} returned success without a body"
        assert name in library.aclGetRecentErrMsg().decode()


def implemented(library: Any, name: str) -> bool:
    """Whether a body stands behind a name: the stubs are one stretch of code, in order of names."""
    begin = ctypes.cast(library.fake_cann_first_stub, ctypes.c_void_p).value
    end = ctypes.cast(library.fake_cann_last_stub, ctypes.c_void_p).value
    at = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert begin is not None
    assert end is not None
    assert at is not None
    return not begin < at < end


HEADS, GROUPS, SIZE, TOKENS = 4, 2, 64, 16


def attention(width: int = 2, **changed: Any) -> Any:
    """A legal call with changes: tensors by name, `query` and `key` as callables of the tensor."""
    query = torch.randn(2, width, HEADS, SIZE).bfloat16()
    key = torch.randn(2, TOKENS, GROUPS, SIZE).bfloat16()
    query = changed.pop("query", lambda q: q)(on_npu(query))
    key = changed.pop("key", lambda k: k)(on_npu(key))
    known: dict[str, Any] = {
        "num_query_heads": HEADS,
        "num_key_value_heads": GROUPS,
        "input_layout": "BSND",
        "softmax_scale": 0.125,
        "actual_seq_kvlen": [TOKENS, 3],
        "return_softmax_lse": True,
    }
    return OPS.npu_fused_infer_attention_score_v2(query, key, key, **(known | changed))


def pages(tokens: int) -> Any:
    return lambda _: on_npu(torch.zeros(3, tokens, GROUPS * SIZE).bfloat16())


def table(*rows: int) -> Any:
    return on_npu(torch.tensor(rows, dtype=torch.int32)[:, None])


def causal(n: int = 2048) -> Any:
    return on_npu(torch.ones((n, n), dtype=torch.bool).triu(1))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a length beyond the axis": (
        {"actual_seq_kvlen": [TOKENS + 1, 3]},
        "holds 17, the axis has 16",
    ),
    "an empty stage": ({"actual_seq_kvlen": [TOKENS, 0]}, "actual_seq_kvlen of batch 1 is 0"),
    "no key": ({"key": lambda k: k[:, :0].contiguous()}, "without tokens"),
    "no lengths for two batches": ({"actual_seq_kvlen": []}, "0 entries for 2"),
    "strided query": (
        {"query": lambda q: q.transpose(1, 2).contiguous().transpose(1, 2)},
        "contig",
    ),
    "float32": ({"query": lambda q: q.float()}, "need float16 or bfloat16"),
    "mixed dtypes": ({"key": lambda k: k.half()}, "need query's dtype"),
    "head of 40": (
        {"query": lambda q: q[..., :40].contiguous(), "key": lambda k: k[..., :40].contiguous()},
        "a head of 40",
    ),
    "a wrong number of heads": ({"num_query_heads": 2}, "num_query_heads is 2"),
    "causal without a mask": ({"sparse_mode": 3}, r"fixed atten_mask \[2048, 2048\]"),
    "a small causal mask": ({"sparse_mode": 3, "atten_mask": lambda: causal(64)}, "got bool"),
    "more queries than tokens": (
        {"width": 5, "sparse_mode": 3, "atten_mask": causal, "actual_seq_kvlen": [TOKENS, 3]},
        "some see none",
    ),
    "the causal mask for one query": (
        {"width": 1, "sparse_mode": 3, "atten_mask": causal},
        "leave the mask out",
    ),
    "small pages for several queries": (
        {"key": pages(64), "block_table": lambda: table(0, 1), "block_size": 64},
        "block_size 64, need 128",
    ),
    "pages without lengths": (
        {
            "key": pages(128),
            "block_table": lambda: table(0, 1),
            "block_size": 128,
            "actual_seq_kvlen": None,
        },
        "must be given with pages",
    ),
    "a table of another batch": (
        {"key": pages(128), "block_table": lambda: table(0, 1, 2), "block_size": 128},
        "for 2 batches",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_attention_refuses(name: str) -> None:
    changes, message = REFUSED[name]
    made = {
        key: value() if key in {"atten_mask", "block_table"} else value
        for key, value in changes.items()
    }
    with pytest.raises(RuntimeError, match=message):
        attention(**made)


def test_the_legal_call_is_not_refused() -> None:
    out, lse = attention()
    assert out.cpu().isfinite().all()
    assert lse.cpu().shape == (2, HEADS, 2, 1)


def test_packed_attention_refuses_heads_of_64_that_share_keys_and_sums_that_end_early() -> None:
    for size, ends, message in (
        (64, [3, 5], "layout TND with a head of 64"),
        (128, [3, 4], "ends"),
    ):
        q = on_npu(torch.randn(5, HEADS, size).bfloat16())
        k = on_npu(torch.randn(5, GROUPS, size).bfloat16())
        with pytest.raises(RuntimeError, match=message):
            OPS.npu_fused_infer_attention_score_v2(
                q,
                k,
                k,
                num_query_heads=HEADS,
                num_key_value_heads=GROUPS,
                input_layout="TND",
                actual_seq_qlen=ends,
                actual_seq_kvlen=[3, 5],
            )


def test_a_page_that_is_none_fails_when_the_device_runs() -> None:
    attention(key=pages(128), block_table=table(0, 7), block_size=128)
    with pytest.raises(RuntimeError, match="block_table holds page 7 of 3"):
        NPU.synchronize()


def test_an_index_out_of_range_fails_when_the_device_runs() -> None:
    x, at = on_npu(torch.zeros(4, 2), torch.tensor([1, 4], dtype=torch.int32))
    x.index_select(0, at)
    with pytest.raises(RuntimeError, match="index holds 4, the axis has 4 elements"):
        NPU.synchronize()


@pytest.mark.parametrize(
    ("size", "parts", "message"), [(12, 2, "a head of 12"), (8, 17, "17 parts")]
)
def test_merging_refuses(size: int, parts: int, message: str) -> None:
    logs = [on_npu(torch.zeros(3))] * parts
    outs = [on_npu(torch.zeros(3, size))] * parts
    with pytest.raises(RuntimeError, match=message):
        OPS.npu_attention_update(logs, outs, 1)


def test_the_log_names_what_was_refused() -> None:
    with logged() as calls, pytest.raises(RuntimeError):
        attention(num_query_heads=2)
    assert calls.launches == []
    assert len(calls.failures) == 1
    assert calls.failures[0].startswith("aclnnFusedInferAttentionScoreV4: num_query_heads is 2")


def test_a_copy_behind_a_failed_launch_is_given_up() -> None:
    x, at = on_npu(torch.zeros(4, 2), torch.tensor([4], dtype=torch.int32))
    taken = x.index_select(0, at)
    with pytest.raises(RuntimeError, match="507015"):
        taken.cpu()
    NPU.synchronize()
    assert x.cpu().tolist() == [[0.0, 0.0]] * 4

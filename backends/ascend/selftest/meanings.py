"""What calls are taken to mean where their documents leave room: each is tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from xgr.backends.ascend.selftest.calls import attention, fused_attention, merge, on_device

# what an empty part has for a log-sum-exp: the merge is never given -inf
_EMPTY = -1e30


def _lse_is_natural() -> str:
    """Natural log of the sum of exponentials of scaled scores."""
    _, lse = attention(queries=2, keys=100)
    wanted = 128**0.5 + torch.log(torch.tensor(100.0))
    return _differs("LSE", lse, wanted.expand(lse.shape), 1e-2)


def _lengths_hold() -> str:
    query = on_device(torch.ones(1, 2, 4, 128, dtype=torch.float16))
    keys = torch.ones(1, 256, 2, 128, dtype=torch.float16)
    keys[:, 10:] = 60
    key = on_device(keys)
    out, lse = fused_attention(
        query=query, key=key, value=key, actual_seq_kvlen=[10], num_query_heads=4,
        num_key_value_heads=2, softmax_scale=128**-0.5, input_layout="BSND",
    )  # fmt: skip
    wanted = 128**0.5 + torch.log(torch.tensor(10.0))
    return _differs("out", out, torch.ones(out.shape), 1e-2) or _differs(
        "LSE", lse, wanted.expand(lse.shape), 1e-2
    )


def _merge_is_softmax() -> str:
    full, empty = torch.zeros(4), torch.full((4,), _EMPTY)
    merged, total = merge([full, empty], [torch.ones(4, 128), torch.zeros(4, 128)])
    return _differs("out", merged, torch.ones(4, 128), 1e-5) or _differs("LSE", total, full, 1e-5)


def _merge_of_nothing() -> str:
    merged, total = merge([torch.full((4,), _EMPTY)] * 2, [torch.zeros(4, 128)] * 2)
    if bool((total.cpu() >= _EMPTY / 10).any()):
        return f"LSE is {total.cpu().tolist()}, expected about {_EMPTY}"
    return _differs("out", merged, torch.zeros(4, 128), 0)


def _sort_is_stable() -> str:
    x = torch.tensor([0.0, 1.0, 0.5, 1.0, -torch.inf, 0.0] * 700)
    found = torch.sort(on_device(x), descending=True, stable=True)
    wanted = torch.sort(x, descending=True, stable=True)
    return _differs("order", found.indices, wanted.indices, 0)


def _search_takes_int64() -> str:
    """Numbers that float32 does not tell apart."""
    numbers = torch.arange(1000) + (1 << 40)
    found = torch.searchsorted(on_device(numbers), on_device(numbers[:, None]))
    return _differs("place", found, torch.arange(1000)[:, None], 0)


def _nan_stays() -> str:
    x = on_device(torch.tensor([torch.nan, torch.inf, -torch.inf, 1.0]))
    bounded = x.clamp_min(-1e30).cpu().tolist()
    if bounded[0] == bounded[0] or bounded[1:] != [torch.inf, float(torch.tensor(-1e30)), 1.0]:
        return f"clamp_min of {x.tolist()} to -1e30 is {bounded}"
    return _differs("x < inf", x < torch.inf, torch.tensor([False, False, True, True]), 0)


def _scatter_of_duplicates() -> str:
    wide = on_device(torch.zeros(2, 5))
    index = on_device(torch.tensor([[0, 4, 4, 4], [3, 4, 4, 4]]))
    wide.scatter_(1, index, on_device(torch.ones(2, 4)))
    wanted = torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 1]])
    return _differs("out", wide[:, :4], wanted, 0)


# a sentence that holds, and what tells where it does not
MEANINGS: Mapping[str, Callable[[], str]] = {
    "the LSE of attention is a natural log": _lse_is_natural,
    "keys behind the length are not seen": _lengths_hold,
    "the merge is a softmax, and an empty part weighs nothing": _merge_is_softmax,
    "the merge of empty parts is empty": _merge_of_nothing,
    "sorts are stable": _sort_is_stable,
    "searchsorted takes int64": _search_takes_int64,
    "NaN passes a bound and compares false": _nan_stays,
    "duplicates of a scatter damage nothing else": _scatter_of_duplicates,
}


def _differs(what: str, got: Tensor, wanted: Tensor, within: float) -> str:
    """What is wrong, empty where nothing is."""
    have = got.cpu().to(torch.float64).reshape(wanted.shape)
    want = wanted.to(torch.float64)
    same = (have == want) | ((have - want).abs() <= within)
    if bool(same.all()):
        return ""
    at = tuple(int(i) for i in (~same).nonzero()[0])
    return f"{what}{list(at)} is {have[at].item()}, expected {want[at].item()}"

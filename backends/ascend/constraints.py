"""What the library's calls take, as its documents say: plain Python, before anything is launched.

torch_npu's Meta kernels check shapes and no limit, and a call beyond one fails on the device or
returns anything. Sources: op-plugin, docs/zh/custom_APIs, one page a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xgr.errors import Reason

Layout = Literal["BSND", "TND"]

# tokens of a block of the arena: the least that calls of more than one query take
BLOCK = 128
# side of the mask that sparse modes 2 to 4 want
MASK = 2048

MERGE_DTYPES = ("float32", "float16", "bfloat16")
FIA_DTYPES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Fia:
    """A call of the fused attention (npu_fused_infer_attention_score_v2).

    Attributes:
        layout: of q and out: BSND [n, W, H, d], or TND [tokens, H, d].
        dtype: of q, k, v and out.
        batch: n, or with TND the number of lengths.
        queries: W, or with TND the tokens of all.
        heads: H.
        kv_heads: G.
        size: d.
        kv_lengths: keys of each element of the batch.
        block: tokens of a K/V block; 0 where K/V are no blocks.
        sparse_mode: 0 every key, 3 causal to the last key.
    """

    layout: Layout
    dtype: str
    batch: int
    queries: int
    heads: int
    kv_heads: int
    size: int
    kv_lengths: Sequence[int]
    block: int = 0
    sparse_mode: int = 0


def fia(call: Fia) -> Iterator[Reason]:
    """Why a call is not one that the library takes; nothing where it is."""
    yield from fia_heads(call.dtype, call.heads, call.kv_heads, call.size)
    if call.layout == "TND":
        yield from tnd(call.heads, call.kv_heads, call.size)
        yield from _within("lengths", len(call.kv_lengths), 1, 4096)
        if not call.block:
            yield Reason("blocks", "dense K/V", "K/V in blocks", "lengths would be cumulative")
    yield from sequences(call.batch)
    yield from _within("queries", call.queries, 1, 1 << 31)
    if len(call.kv_lengths) != call.batch:
        yield Reason("lengths", str(len(call.kv_lengths)), f"one an element: {call.batch}")
    if call.sparse_mode not in (0, 3):
        yield Reason("sparse_mode", str(call.sparse_mode), "0 or 3")
    if call.sparse_mode and call.layout == "BSND" and call.queries == 1:
        hint = "the last query sees every key: pass neither mode nor mask"
        yield Reason("sparse_mode", f"{call.sparse_mode} for one query", "0", hint)
    shortest, longest = min(call.kv_lengths, default=0), max(call.kv_lengths, default=0)
    if shortest < 1:
        hint = "an empty stage is (0, -inf): leave the call out"
        yield Reason("keys", str(shortest), "1 or more in every element", hint)
    if call.queries == 1 and longest > 262144:
        yield Reason("keys", str(longest), "at most 262144 for one query")
    yield from _blocks(call)


def fia_heads(dtype: str, heads: int, kv_heads: int, size: int) -> Iterator[Reason]:
    """What a call of the fused attention takes of a model, whatever the batch."""
    if dtype not in FIA_DTYPES:
        yield Reason("dtype", dtype, " or ".join(FIA_DTYPES), "load the model in bfloat16")
    yield from _within("heads", heads, 1, 256)
    if not kv_heads or heads % kv_heads or heads // kv_heads > 64:
        got = f"{heads} query heads over {kv_heads} K/V heads"
        yield Reason("groups", got, "a whole ratio of at most 64")
    yield from _multiple("d", size, 16, 512)


def sequences(count: int) -> Iterator[Reason]:
    """Why a call cannot have as many elements in its batch."""
    return _within("batch", count, 1, 65536)


def tnd(heads: int, kv_heads: int, size: int) -> Iterator[Reason]:
    """Why packed queries of several requests cannot go in one call."""
    if size != 128 and not (size == 64 and heads == kv_heads):
        need = "d=128, or d=64 with as many K/V heads as query heads"
        yield Reason("layout", f"TND with d={size}, H={heads}, G={kv_heads}", need, "use BSND")


def takes_packed(heads: int, kv_heads: int, size: int) -> bool:
    """Whether the library takes packed queries of a model."""
    return not tuple(tnd(heads, kv_heads, size))


def _blocks(call: Fia) -> Iterator[Reason]:
    if not call.block:
        return
    if call.queries == 1 and call.layout == "BSND":
        yield from _multiple("block", call.block, 16, 1024)
    else:
        yield from _multiple("block", call.block, BLOCK, 512)
    if call.kv_heads * call.size > 65535:
        yield Reason("block", f"G * d = {call.kv_heads * call.size}", "at most 65535 in a token")


def attention_update(dtype: str, parts: int, size: int) -> Iterator[Reason]:
    """Why parts of attention cannot be merged by npu_attention_update."""
    if dtype not in MERGE_DTYPES:
        yield Reason("dtype", dtype, " or ".join(MERGE_DTYPES))
    yield from _within("parts", parts, 1, 16)
    yield from _multiple("d", size, 8, 512)


def rotary_mul(heads: int, size: int) -> Iterator[Reason]:
    """Why heads cannot be turned by npu_rotary_mul; tokens are its S axis, which has no limit."""
    yield from _within("heads", heads, 1, 999)
    yield from _multiple("d", size, 2, 894)


def _within(name: str, value: int, least: int, most: int) -> Iterator[Reason]:
    if not least <= value <= most:
        yield Reason(name, str(value), f"{least}..{most}")


def _multiple(name: str, value: int, of: int, most: int) -> Iterator[Reason]:
    if not of <= value <= most or value % of:
        yield Reason(name, str(value), f"a multiple of {of}, at most {most}")

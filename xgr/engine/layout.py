"""Where each request of a batch lies: rows of its beams, tokens of its prompt. Host ints only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm

from xgr.backends.base import Backend
from xgr.engine.config import EngineConfig
from xgr.engine.request import Prepared, Request
from xgr.errors import InputError


@dataclass(frozen=True, slots=True)
class Layout:
    """A batch's layout; every list is padded to the request bucket.

    Attributes:
        count: requests of the batch.
        requests: bucket B.
        rows: bucket R.
        tokens: bucket N of packed prompt tokens.
        arena: bucket of the arena's tokens that the prompts lie in, from its first on.
        row_start: [B + 1], rows of each request, sized for its greatest width.
        q_start: [B + 1], packed tokens of each request.
        prompt_start: [B], arena row of each prompt.
        prompt_len: [B], tokens; 0 for padding.
        widths: [levels][B], beams kept at each level; 0 for padding.
    """

    count: int
    requests: int
    rows: int
    tokens: int
    arena: int
    row_start: list[int]
    q_start: list[int]
    prompt_start: list[int]
    prompt_len: list[int]
    widths: list[list[int]]

    @property
    def last(self) -> list[int]:
        """[B], packed row of each prompt's last token; row 0 for padding."""
        return [max(0, end - 1) if n else 0 for end, n in self._ends()]

    @property
    def counts(self) -> list[int]:
        """[B], packed tokens of each request."""
        return [after - before for before, after in pairwise(self.q_start)]

    def _ends(self) -> Iterator[tuple[int, int]]:
        return zip(self.q_start[1:], self.prompt_len, strict=True)


def lay_out(
    requests: Sequence[Request],
    depth: int,
    end_tokens: int,
    backend: Backend,
    granule: int | None = None,
) -> Layout:
    """Rows and tokens of a batch of at least one request, in the backend's buckets.

    Prompts begin at multiples of `granule` tokens, of the backend's own when None.
    """
    granule = backend.arena_granule if granule is None else granule
    row_start, q_start = [0], [0]
    starts: list[int] = []
    lengths: list[int] = []
    widths: list[list[int]] = [[] for _ in range(depth + end_tokens)]
    arena = 0
    for request in requests:
        own = request.widths(depth)
        own += own[-1:] * end_tokens
        for level, width in enumerate(own):
            widths[level].append(width)
        row_start.append(row_start[-1] + max(own))
        q_start.append(q_start[-1] + len(request.token_ids))
        starts.append(arena)
        lengths.append(len(request.token_ids))
        arena += round_up(len(request.token_ids), granule)
    bucket = round_up(len(requests), backend.request_granule)
    padding = bucket - len(requests)
    return Layout(
        count=len(requests),
        requests=bucket,
        rows=round_up(row_start[-1], backend.row_granule),
        tokens=token_bucket(q_start[-1], backend),
        arena=arena_bucket(arena, backend),
        row_start=row_start + row_start[-1:] * padding,
        q_start=q_start + q_start[-1:] * padding,
        prompt_start=starts + [0] * padding,
        prompt_len=lengths + [0] * padding,
        widths=[level + [0] * padding for level in widths],
    )


def pack(
    requests: Sequence[Prepared], depth: int, config: EngineConfig, backend: Backend
) -> Iterator[range]:
    """Runs of consecutive requests that fit one batch each; each request fits one alone."""
    begin, used = 0, _Need((0, 0, *[0] * depth), frozenset())
    granule = arena_granule(config, backend)
    for at, prepared in enumerate(requests):
        need = _Need.of(prepared, depth, granule)
        if at > begin and (at - begin == config.max_requests or not (used + need).fits(config)):
            yield range(begin, at)
            begin, used = at, need
        else:
            used += need
    if begin < len(requests):
        yield range(begin, len(requests))


@dataclass(frozen=True, slots=True)
class _Need:
    """What requests take of a batch: (arena tokens, rows, filter nodes of each level), masks."""

    sizes: tuple[int, ...]
    masks: frozenset[int]

    @classmethod
    def of(cls, prepared: Prepared, depth: int, granule: int) -> _Need:
        request, chosen = prepared.request, prepared.chosen
        nodes = [len(level) for level in chosen.nodes] if chosen is not None else [0] * depth
        mask = chosen.mask if chosen is not None else None
        tokens = round_up(len(request.token_ids), granule)
        sizes = (tokens, max(request.widths(depth)), *nodes)
        return cls(sizes, frozenset() if mask is None else frozenset([id(mask)]))

    def __add__(self, other: _Need) -> _Need:
        sizes = tuple(a + b for a, b in zip(self.sizes, other.sizes, strict=True))
        return _Need(sizes, self.masks | other.masks)

    def fits(self, config: EngineConfig) -> bool:
        tokens, rows, *nodes = self.sizes
        return (
            tokens <= config.max_tokens
            and rows <= config.max_rows
            and max(nodes) <= config.filter_capacity
            and len(self.masks) <= config.filter_masks
        )


def check_fits(tokens: int, rows: int, nodes: int, config: EngineConfig) -> None:
    """Refuse a request that no batch can hold.

    Raises:
        InputError: with the limit and its name.
    """
    if tokens > config.max_tokens:
        raise InputError(
            f"a prompt takes {tokens} tokens, the engine holds max_tokens={config.max_tokens}: "
            "shorten the history (max_items) or start the engine with a larger max_tokens"
        )
    if rows > config.max_rows:
        raise InputError(
            f"a beam width of {rows} exceeds max_rows={config.max_rows}: "
            "ask for fewer beams or start the engine with a larger max_rows"
        )
    if nodes > config.filter_capacity:
        raise InputError(
            f"the filter names {nodes} nodes of one level, the engine holds "
            f"filter_capacity={config.filter_capacity}: register large filters by name, or start "
            "the engine with a larger filter_capacity"
        )


def arena_granule(config: EngineConfig, backend: Backend) -> int:
    """Tokens of the arena that a prompt takes a multiple of."""
    blocks = config.block_tokens if config.attention == "paged" else 1
    return lcm(backend.arena_granule, blocks)


def token_bucket(tokens: int, backend: Backend) -> int:
    """Packed tokens that a batch is padded to: multiples of a granule that grows with the batch."""
    granule = backend.token_granule
    if backend.token_buckets is not None:
        granule = max(granule, (1 << max(0, tokens).bit_length() >> 1) // backend.token_buckets)
    return round_up(tokens, granule)


def arena_bucket(tokens: int, backend: Backend) -> int:
    """Tokens that a batch's prompts take of the arena, rounded up to 1 or 1.5 times a power of two.

    Kernels choose by it how to divide the prompts: to take the whole arena for them would divide a
    prompt of a batch of one like one as long as the arena.
    """
    power = 1 << max(0, tokens - 1).bit_length()
    fits = power * 3 // 4 if power * 3 // 4 >= tokens else power
    return round_up(fits, lcm(backend.token_granule, backend.arena_granule))


def round_up(value: int, granule: int) -> int:
    """The least multiple of `granule` that is at least `value` and not 0."""
    return max(1, -(-value // granule)) * granule

"""Where each request of a batch lies: rows of its beams, tokens of its prompt. Host ints only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xgr.backends.base import Backend
from xgr.engine.config import EngineConfig
from xgr.engine.request import Request
from xgr.errors import InputError


@dataclass(frozen=True, slots=True)
class Layout:
    """A batch's layout; every list is padded to the request bucket.

    Attributes:
        count: requests of the batch.
        requests: bucket B.
        rows: bucket R.
        tokens: bucket N of packed prompt tokens.
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
    row_start: list[int]
    q_start: list[int]
    prompt_start: list[int]
    prompt_len: list[int]
    widths: list[list[int]]

    @property
    def last(self) -> list[int]:
        """[B], packed row of each prompt's last token; row 0 for padding."""
        return [max(0, end - 1) if n else 0 for end, n in self._ends()]

    def _ends(self) -> Iterator[tuple[int, int]]:
        return zip(self.q_start[1:], self.prompt_len, strict=True)


def lay_out(requests: Sequence[Request], depth: int, end_tokens: int, backend: Backend) -> Layout:
    """Rows and tokens of a batch of at least one request, in the backend's buckets."""
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
        arena += round_up(len(request.token_ids), backend.arena_granule)
    bucket = round_up(len(requests), backend.request_granule)
    padding = bucket - len(requests)
    return Layout(
        count=len(requests),
        requests=bucket,
        rows=round_up(row_start[-1], backend.row_granule),
        tokens=round_up(q_start[-1], backend.token_granule),
        row_start=row_start + row_start[-1:] * padding,
        q_start=q_start + q_start[-1:] * padding,
        prompt_start=starts + [0] * padding,
        prompt_len=lengths + [0] * padding,
        widths=[level + [0] * padding for level in widths],
    )


def pack(
    requests: Sequence[Request], depth: int, config: EngineConfig, backend: Backend
) -> Iterator[range]:
    """Runs of consecutive requests that fit one batch each.

    Raises:
        InputError: a request that fits no batch, with the limit and its name.
    """
    begin = tokens = rows = 0
    for at, request in enumerate(requests):
        need_tokens = round_up(len(request.token_ids), backend.arena_granule)
        need_rows = max(request.widths(depth))
        check_fits(need_tokens, need_rows, config)
        full = (
            tokens + need_tokens > config.max_tokens
            or rows + need_rows > config.max_rows
            or at - begin == config.max_requests
        )
        if full and at > begin:
            yield range(begin, at)
            begin, tokens, rows = at, 0, 0
        tokens, rows = tokens + need_tokens, rows + need_rows
    if begin < len(requests):
        yield range(begin, len(requests))


def check_fits(tokens: int, rows: int, config: EngineConfig) -> None:
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


def round_up(value: int, granule: int) -> int:
    """The least multiple of `granule` that is at least `value` and not 0."""
    return max(1, -(-value // granule)) * granule

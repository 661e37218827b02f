"""FlashInfer (flashinfer-python, apache-2.0) as a peer of staged attention.

A cache of pages of 16 tokens: beams share the pages of their prompt and have one of their own.
Plans are made before anything is timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import torch

from benchmarks.gpu.staged import OWN, SIZE, Batch, Inputs, ints
from benchmarks.gpu.timing import Call

PAGE = 16
# bytes of the buffer in which the library keeps parts of split prompts
_WORKSPACE = 512 * 2**20


def present(peers: Sequence[str]) -> list[str]:
    """The peers asked for without those that cannot be imported, which are said to be absent."""
    try:
        for name in peers:
            importlib.import_module(name)
    except ImportError as error:
        print(f"FlashInfer is absent, and so are its columns: {error}")
        return []
    return list(peers)


def columns(batch: Batch, sets: Sequence[Inputs]) -> Iterator[tuple[str, str, Sequence[Call]]]:
    """Column, variant and the call on each set; the fastest variant is the column's time.

    paged: every beam is a sequence of its own. cascade: prompts once, then each beam's own tokens,
    then the merge, as the library's wrapper does it. stages: the same by hand, with the library's
    kernels after FA3 or FA2 for either stage, which the wrapper does not let choose.

    Raises:
        ValueError: a prompt is no whole number of pages.
    """
    library = importlib.import_module("flashinfer")
    caches = [_pages(one) for one in sets]
    heads = (batch.heads, batch.groups, SIZE, PAGE)
    kind = {"q_data_type": torch.bfloat16, "kv_data_type": torch.bfloat16}
    table = _every_beam(batch)
    for variant, tensor_cores in (("decode", False), ("tensor cores", True)):
        paged = library.BatchDecodeWithPagedKVCacheWrapper(
            workspace(0), use_tensor_cores=tensor_cores
        )
        if planned(paged, *table, *heads, **kind):
            calls = [_run(paged, one, kv) for one, kv in zip(sets, caches, strict=True)]
            yield "paged", variant, calls
    cascade = library.MultiLevelCascadeAttentionWrapper(2, workspace(0))
    levels = [list(level) for level in zip(*_stages(batch), strict=True)]
    if planned(cascade, *levels, *heads, **kind):
        calls = [_run(cascade, one, kv) for one, kv in zip(sets, caches, strict=True)]
        yield "cascade", "the library's", calls
    for backends in (("fa3", "fa3"), ("fa3", "fa2"), ("fa2", "fa2")):
        stages = [
            library.BatchPrefillWithPagedKVCacheWrapper(workspace(at), backend=backend)
            for at, backend in enumerate(backends)
        ]
        pages = zip(stages, _stages(batch), strict=True)
        if all(planned(stage, *one, *heads, **kind) for stage, one in pages):
            pairs = zip(sets, caches, strict=True)
            yield "stages", " + ".join(backends), [_cascade(library, stages, *x) for x in pairs]


def planned(wrapper: Any, *arguments: Any, **options: Any) -> bool:
    """Plan; see `compiled`."""
    return compiled(lambda: wrapper.plan(*arguments, **options))


def compiled(call: Call) -> bool:
    """Call; False, and a line that says so, where the library may not compile what it lacks.

    It compiles kernels at first use, for minutes; FLASHINFER_DISABLE_JIT=1 forbids that.
    """
    missing = importlib.import_module("flashinfer.jit.core").MissingJITCacheError
    try:
        call()
    except missing as error:
        _say_missing(error.spec.name)
        return False
    return True


@cache
def _say_missing(name: str) -> None:
    print(f"without FlashInfer's {name}: not compiled, and FLASHINFER_DISABLE_JIT forbids it")


def _run(wrapper: Any, one: Inputs, pages: tuple[torch.Tensor, torch.Tensor]) -> Call:
    return lambda: wrapper.run(one.q, pages)


def _cascade(
    library: Any, stages: Sequence[Any], one: Inputs, pages: tuple[torch.Tensor, torch.Tensor]
) -> Call:
    shared, own = stages

    def call() -> torch.Tensor:
        out, lse = own.run(one.q, pages, return_lse=True)
        library.merge_state_in_place(out, lse, *shared.run(one.q, pages, return_lse=True))
        result: torch.Tensor = out
        return result

    return call


@cache
def workspace(which: int) -> torch.Tensor:
    """A buffer for parts of split prompts."""
    return torch.zeros(_WORKSPACE, dtype=torch.uint8, device="cuda")


def _pages(one: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V [pages, PAGE, G, d]: the prompts' pages, then one for each row."""
    made = []
    for prompt, own in ((one.k, one.k_own), (one.v, one.v_own)):
        tail = prompt.new_zeros(one.batch.rows, PAGE, *prompt.shape[1:])
        tail[:, :OWN] = own
        made.append(torch.cat((prompt.reshape(-1, PAGE, *prompt.shape[1:]), tail)))
    return made[0], made[1]


def _prompt_pages(batch: Batch) -> Sequence[int]:
    if any(tokens % PAGE for tokens in batch.lengths):
        raise ValueError(f"prompts of {batch.lengths} tokens, need multiples of {PAGE}")
    return [tokens // PAGE for tokens in batch.lengths]


def _every_beam(batch: Batch) -> tuple[torch.Tensor, ...]:
    """indptr, indices and tokens of the last page, a sequence a row."""
    counts, first, row, tables = [], 0, 0, []
    total = sum(_prompt_pages(batch))
    for pages, width in zip(_prompt_pages(batch), batch.widths, strict=True):
        shared = torch.arange(first, first + pages).expand(width, -1)
        own = torch.arange(total + row, total + row + width)[:, None]
        tables.append(torch.cat((shared, own), dim=1).flatten())
        counts += [pages + 1] * width
        first, row = first + pages, row + width
    indptr = torch.tensor([0, *counts]).cumsum(0).int()
    last = torch.full((batch.rows,), OWN, dtype=torch.int32)
    return indptr, torch.cat(tables).int().cuda(), last


def _stages(batch: Batch) -> Sequence[tuple[torch.Tensor, ...]]:
    """Query indptr, page indptr, page indices, tokens of the last page: of prompts, of rows."""
    pages = torch.tensor([0, *_prompt_pages(batch)]).cumsum(0).int()
    rows = torch.tensor([0, *batch.widths]).cumsum(0).int()
    total, each = int(pages[-1]), torch.arange(batch.rows + 1, dtype=torch.int32)
    full = ints([PAGE] * len(batch.widths), "cpu")
    own = ints([OWN] * batch.rows, "cpu")
    return (
        (rows, pages, ints(range(total)), full),
        (each, each, ints(range(total, total + batch.rows)), own),
    )


def settings() -> Mapping[str, str]:
    """The library's version."""
    return {"flashinfer": importlib.import_module("flashinfer").__version__}

"""More wrong kernels: masks of the wrong beam, K/V that do not follow, attention off its prompt."""

from typing import Any

import numpy as np

from tests.conformance.mutants import mutant
from xgr.backends.cpu_ref.parents import sound_requests
from xgr.backends.cpu_ref.reference.beam_ancestors import beam_ancestors
from xgr.backends.cpu_ref.reference.kv_reorder import kv_reorder
from xgr.backends.cpu_ref.reference.linear_lse import linear_lse
from xgr.backends.cpu_ref.reference.mask_filter import mask_filter
from xgr.backends.cpu_ref.reference.rope_kv import rope_kv
from xgr.backends.cpu_ref.reference.shared_attention import shared_attention
from xgr.ops.array import Trie

Values = Any


def live_rows(row_start: Values, live: Values) -> list[range]:
    return [range(a, a + n) for a, n in zip(row_start, live, strict=False)]


@mutant("mask_filter")
def legal_anywhere_is_legal_here(
    *, scores: Values, out: Values, trie: Trie, level: int, **rest: Values
) -> None:
    mask_filter(scores=scores, out=out, trie=trie, level=level, **rest)
    known = np.unique(np.asarray(trie.levels[level].code))
    for rows in live_rows(rest["row_start"], rest["live"]):
        out[rows.start : rows.stop, known] = scores[rows.start : rows.stop, known]


@mutant("mask_filter")
def only_the_last_code_counts(*, node: Values, trie: Trie, level: int, **rest: Values) -> None:
    """Beams whose last codes are equal get the children of the first node of that code."""
    if level:
        code = np.asarray(trie.levels[level - 1].code)
        first = {int(c): int(np.flatnonzero(code == c)[0]) for c in np.unique(code)}
        node = np.array([first[int(code[n])] if 0 <= n < len(code) else n for n in node], np.int32)
    mask_filter(node=node, trie=trie, level=level, **rest)


@mutant("mask_filter")
def one_mask_for_all_beams(*, node: Values, **rest: Values) -> None:
    node = node.copy()
    for rows in live_rows(rest["row_start"], rest["live"]):
        node[rows.start : rows.stop] = node[rows.start : rows.start + 1]
    mask_filter(node=node, **rest)


@mutant("kv_reorder")
def moves_row_after_row(*, k: Values, v: Values, parent: Values, step: int, **rest: Values) -> None:
    for rows in sound_requests(parent, rest["row_start"], rest["live"], rest["status"]):
        for row in range(rows.start, rows.stop):
            for cache in (k, v):
                cache[:, row, :step] = cache[:, parent[row], :step]


@mutant("kv_reorder")
def moves_the_first_layer(*, k: Values, v: Values, **rest: Values) -> None:
    kv_reorder(k=k[:1], v=v[:1], **rest)


@mutant("kv_reorder")
def moves_keys_only(*, v: Values, **rest: Values) -> None:
    kv_reorder(v=v.copy(), **rest)


@mutant("kv_reorder")
def moves_the_slot_that_is_written_next(*, step: int, k: Values, **rest: Values) -> None:
    kv_reorder(step=min(step + 1, k.shape[2]), k=k, **rest)


@mutant("kv_reorder")
def moves_a_fixed_block_of_rows(*, live: Values, **rest: Values) -> None:
    kv_reorder(live=np.minimum(live, 1024), **rest)


@mutant("kv_reorder")
def trusts_its_parents(*, parent: Values, row_start: Values, live: Values, **rest: Values) -> None:
    parent = parent.copy()
    for rows, first, end in zip(
        live_rows(row_start, live), row_start[:-1], row_start[1:], strict=True
    ):
        mine = slice(rows.start, rows.stop)
        parent[mine] = np.sort(np.clip(parent[mine], first, end - 1))
    kv_reorder(parent=parent, row_start=row_start, live=live, **rest)


@mutant("beam_ancestors")
def forgets_the_grandparents(*, parent: Values, out: Values, step: int, **rest: Values) -> None:
    beam_ancestors(parent=parent, out=out, step=step, **rest)
    for rows in sound_requests(parent, rest["row_start"], rest["live"], rest["status"]):
        out[rows, :step] = parent[rows, None]


@mutant("beam_ancestors")
def hands_on_the_parents_own_slot(*, step: int, ancestors: Values, **rest: Values) -> None:
    beam_ancestors(step=min(step + 1, ancestors.shape[1]), ancestors=ancestors, **rest)


@mutant("shared_attention")
def one_prompt_length_for_the_batch(*, prompt_len: Values, **rest: Values) -> None:
    shared_attention(prompt_len=np.full_like(prompt_len, prompt_len.max()), **rest)


@mutant("shared_attention")
def heads_take_turns_at_the_groups(*, k: Values, v: Values, q: Values, **rest: Values) -> None:
    group = np.arange(q.shape[1]) % k.shape[1]
    shared_attention(k=k[:, group], v=v[:, group], q=q, **rest)


@mutant("shared_attention")
def dead_rows_are_left_as_they_are(*, out: Values, lse: Values, **rest: Values) -> None:
    before = out.copy(), lse.copy()
    shared_attention(out=out, lse=lse, **rest)
    gone = np.isneginf(lse).all(axis=-1)
    out[gone], lse[gone] = before[0][gone], before[1][gone]


@mutant("rope_kv")
def positions_begin_behind_the_longest_prompt(*, prompt_len: Values, **rest: Values) -> None:
    rope_kv(prompt_len=np.full_like(prompt_len, prompt_len.max()), **rest)


@mutant("linear_lse")
def the_last_row_of_the_head_is_padding(*, head: Values, **rest: Values) -> None:
    linear_lse(head=head[: max(len(head) - 1, 1)], **rest)

"""The problems that kernels are compiled for ahead of a GPU, and arguments of their shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import product
from typing import Any

from xgr.ops import spec
from xgr.ops.array import Filters, Trie, TrieLevel
from xgr.ops.dtype import MODEL_DTYPES, DType, dtype, int32, int64, uint32
from xgr.ops.spec import Arg, Flag, Problem

Empty = Callable[[tuple[int, ...], DType], Any]
Batch = Mapping[str, int]

# heads and sizes: Qwen3 0.6B and 4B, Llama 1B, one K/V head of 256, and 96
MODELS: tuple[Mapping[str, int], ...] = (
    {"H": 16, "G": 8, "d": 128, "h": 1024, "I": 3072},
    {"H": 32, "G": 8, "d": 128, "h": 2560, "I": 9728},
    {"H": 32, "G": 8, "d": 64, "h": 2048, "I": 8192},
    {"H": 16, "G": 1, "d": 256, "h": 1152, "I": 6912},
    {"H": 32, "G": 32, "d": 96, "h": 3072, "I": 8192},
)
# one request, and many wide ones; a catalogue of 3 levels of 8192 codes
BATCHES: tuple[Batch, ...] = (
    {"B": 1, "R": 128, "N": 1024, "T": 16384},
    {"B": 16, "R": 8192, "N": 16384, "T": 65536},
)
# what the benchmarks measure, on the first models: requests, beams of each, tokens of a prompt
MEASURED: tuple[Batch, ...] = tuple(
    {"B": requests, "R": requests * beams, "N": requests * tokens, "T": requests * tokens}
    for requests, beams, tokens in product((1, 4, 16), (128, 256, 512), (256, 1024, 3072, 8192))
)
MEASURED_MODELS = MODELS[:2]
# whose kernels divide a batch by its size
MEASURED_OPS = ("beam_step", "linear_swiglu", "prefill_attention", "staged_attention")
# beams over small codebooks, whose rows are divided in another way
SMALL_CODEBOOKS: Batch = {"B": 1, "R": 512, "K": 256, "M": 256, "C": 256}
REST: Mapping[str, int] = {
    "S": 2, "L": 28, "V": 176_512, "M": 8192, "K": 8192, "C": 8192, "O": 4096, "P": 40_960,
    "F": 64, "NB": 32, "NP": 8192, "BT": 16, "MB": 66, "OB": 2,
}  # fmt: skip
SCALARS: Mapping[str, Any] = {
    "step": 2, "max_distance": 128, "scale": 0.125, "eps": 1e-6, "block_tokens": 16,
}  # fmt: skip


def served(op: str) -> Collection[str]:
    """Dtypes in which engines run an op: models in bfloat16, whose logits are float32."""
    return ("float32",) if op == "beam_step" else ("bfloat16",)


def shipped_problems(
    op: str, sample: bool = False, dtypes: Collection[str] = MODEL_DTYPES
) -> Iterator[Problem]:
    """Problems of an op for every model, batch, dtype and combination of flags; each once.

    What the benchmarks measure is added in the dtypes that engines run. A sample is of one model
    and without that, and of the beam step of one batch. `dtypes` are of models: what has none is
    always there.
    """
    declared = spec(op)
    seen = set()
    flags: dict[str, tuple[Flag, ...]] = {
        a.name: (False, True) for a in declared.args if a.optional
    }
    flags |= {s.name: s.choices or (False, True) for s in declared.scalars if s.flag}
    typed = any(a.dtype == "model" for a in declared.args)
    kinds = dtypes if typed else ("float32",)
    batches = BATCHES
    if op == "beam_step":
        batches = BATCHES[1:] if sample else (*BATCHES, SMALL_CODEBOOKS)
    asked = [*product(kinds, MODELS[:1] if sample else MODELS, batches)]
    if op in MEASURED_OPS and not sample:
        run = [kind for kind in kinds if kind in served(op)]
        asked += product(run, MEASURED_MODELS, MEASURED)
    for kind, model, batch in asked:
        known = {**REST, **model, **batch, "RO": batch["R"]}
        rows = (batch["B"], batch["R"]) if op == "beam_step" else (batch["R"],)
        for count, values in product(rows, product(*flags.values())):
            known["R"] = count
            chosen = dict(zip(flags, values, strict=True))
            if not _posed(op, chosen):
                continue
            present = [a for a in declared.args if not a.optional or chosen[a.name]]
            axes = {x for a in present for x in a.axis_names} - set(declared.derived)
            axes |= {x for x in declared.axes if x in {"H", "G", "d"} and "d" in axes}
            problem = Problem.of(op, kind, chosen, **{x: known[x] for x in axes})
            if problem not in seen:
                seen.add(problem)
                yield problem


def shipped_arguments(problem: Problem, empty: Empty) -> Iterator[dict[str, Any]]:
    """Arguments of a launch: one, or where the catalogue is read one for each way to."""
    declared, sizes = spec(problem.op), {**REST, **problem.sizes}
    scalars = {s.name: problem.flag(s.name, SCALARS.get(s.name, 1)) for s in declared.scalars}
    tensors: dict[str, Any] = {}
    for arg in declared.args:
        if arg.optional and not problem.flag(arg.name):
            tensors[arg.name] = None
        elif not arg.struct:
            one = empty(declared.shape(arg, sizes), _dtype(arg, problem))
            tensors[arg.name] = [one, one] if arg.many else one
    structs = {a.struct: a.name for a in declared.args if a.struct and a.name not in tensors}
    if not structs:
        yield {**tensors, **scalars}
        return
    codes, requests = sizes["K"], sizes["B"]
    levels: tuple[int, ...] = (0, 1)
    if problem.op == "beam_step":  # the first level of a search has one row a request
        levels = (0,) if sizes["R"] == requests else (1,)
    for level, described in product(levels, (False, True)):
        made: dict[str, Any] = {}
        if "trie" in structs:
            made[structs["trie"]] = _trie(empty, codes, described)
        if "filters" in structs:
            made[structs["filters"]] = _filters(empty, requests)
        yield {**tensors, **scalars, "level": level, **made}


def _posed(op: str, flags: Mapping[str, Flag]) -> bool:
    """Whether the engine, or a user with a reason, ever asks for a combination of flags."""
    if op == "beam_step":
        lse = bool(flags["lse"]) == (flags["normalize"] == "vocab")
        return lse and bool(flags["trie"] or not flags["filters"])
    if op == "block_fork":
        return flags["parent"] == flags["table"]
    if op in {"rope_kv", "rope_paged", "rope_prefill"}:
        return flags["q_norm"] == flags["k_norm"]
    if op == "unshared_attention":
        return not (flags["bias"] and flags["ancestors"])
    return True


def _dtype(arg: Arg, problem: Problem) -> DType:
    return dtype(problem.dtype if arg.dtype == "model" else arg.dtype)


def _trie(empty: Empty, codes: int, described: bool) -> Trie:
    below = empty((codes + 1,), int32)
    levels = [TrieLevel(empty((codes,), int32), below) for _ in range(2)]
    last = TrieLevel(empty((codes,), int32), None)
    return Trie((*levels, last), (codes,) * 3, "1", empty((64,), int64) if described else None)


def _filters(empty: Empty, requests: int) -> Filters:
    each = (requests,)
    words = tuple(empty((4, 256), uint32) for _ in range(3))
    return Filters(
        empty(each, int32), empty((3, requests + 1), int32), empty((3, 4096), int32),
        empty(each, int32), words,
    )  # fmt: skip

"""The operators of torch: what torch asks of one, and the results of the ops they stand for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import xgr.torch
from xgr.catalog import Catalogue
from xgr.conformance.laid import with_outputs
from xgr.errors import InputError
from xgr.ops import spec, specs
from xgr.ops.dtype import MODEL_DTYPES
from xgr.ops.spec import TORCH_NAMES, Case, OpSpec, Values
from xgr.runtime import runtime
from xgr.torch import launch
from xgr.torch.structures import filters_list, trie_list

OPS = sorted(specs())


def small(op: str, kind: str = "") -> Case:
    """The case of fewest elements among those with the most flags set, optional arguments too."""
    whole = [c for c in spec(op).cases() if not c.flags.get("perf") and all(c.sizes.values())]
    kinds = {c.dtype for c in whole} & {kind} or {"float32"}
    return min(
        (c for c in whole if c.dtype in kinds),
        key=lambda c: (-sum(map(bool, c.flags.values())), sum(c.sizes.values())),
    )


def host_of(case: Case, finite: bool) -> Values:
    """Host values of a case; finite ones have 0 for the NaN that must not be read."""
    values = with_outputs(spec(case.op), spec(case.op).build(case), case.sizes, case.dtype)
    for name, value in values.items():
        if finite and isinstance(value, np.ndarray) and value.dtype.kind not in "iu":
            missing = np.isnan(value.astype(np.float32))
            values[name] = np.where(missing, np.zeros((), value.dtype), value)
    return values


def tensor(value: NDArray[Any]) -> torch.Tensor:
    """A copy."""
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(value.copy())


def given(declared: OpSpec, values: Values) -> dict[str, Any]:
    """Host values as the writing operator takes them, all by name."""
    found: dict[str, Any] = {s.name: values[s.name] for s in declared.scalars}
    for arg in declared.args:
        value, name = values.get(arg.name), TORCH_NAMES.get(arg.name, arg.name)
        if value is None:
            continue
        if arg.struct == "trie":
            found[name] = [*map(tensor, trie_list(value))]
            found["level_sizes"] = list(value.level_sizes)
        elif arg.struct == "filters":
            found[name] = [*map(tensor, filters_list(value))]
        else:
            found[name] = [*map(tensor, value)] if arg.many else tensor(value)
    return found


def outs(declared: OpSpec) -> list[str]:
    return [arg.name for arg in declared.args if arg.role == "out"]


def calls(case: Case, finite: bool = False) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The operators of an op with arguments of their own: the writing one, the returning one."""
    declared, values = spec(case.op), host_of(case, finite)
    whole, both = getattr(torch.ops.xgr, case.op), bool(outs(declared))
    yield whole.out if both else whole.default, given(declared, values)
    if both:
        inputs = {k: v for k, v in given(declared, values).items() if k not in outs(declared)}
        yield whole.default, inputs | {axis: case.sizes[axis] for axis in declared.asked}


@pytest.mark.parametrize("op", OPS)
def test_torch_finds_nothing_wrong(op: str) -> None:
    for operator, arguments in calls(small(op), finite=True):
        torch.library.opcheck(operator, (), arguments)


@pytest.mark.parametrize("kind", MODEL_DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_results_are_those_of_the_runtime_in_the_same_memory(op: str, kind: str) -> None:
    case, declared = small(op, kind), spec(op)
    want = host_of(case, finite=False)
    getattr(runtime("cpu"), op)(**want)
    (write, arguments), *returning = calls(case)
    assert write(**arguments) is None
    written = [arg.name for arg in declared.outputs if want.get(arg.name) is not None]
    for name in written:
        same(arguments[name], want[name])
    for operator, inputs in returning:
        result = operator(**inputs)
        made = dict(zip(outs(declared), torch.utils._pytree.tree_leaves(result), strict=True))
        for name in written:
            same((inputs | made)[name], want[name])


def same(got: torch.Tensor, want: NDArray[Any]) -> None:
    torch.testing.assert_close(got, tensor(want), rtol=0, atol=0, equal_nan=True)


# -- in a program ---------------------------------------------------------------------------------


def decode(rows: Values, catalogue: Values, width: int) -> Values:
    """Attention, logits, a beam step and a reorder, as between the layers of a decoder."""
    ops, device = torch.ops.xgr, rows["q"].device
    whole = {"dtype": torch.int32, "device": device}
    attended, _ = ops.staged_attention(**rows, step=1, scale=0.5)
    logits = ops.linear(attended.flatten(1), torch.eye(12, 32, device=device))
    status = torch.zeros(1, **whole)
    parent, code, node, score, live = ops.beam_step(
        logits, rows["q"][:, 0, 0].contiguous(), torch.arange(4, **whole),
        rows["row_start"], rows["live"],
        torch.tensor([0, width], **whole), torch.tensor([width], **whole), status,
        **catalogue, level=1, normalize="children", order="path", RO=width,
    )  # fmt: skip
    k, v = rows["k_unshared"].clone()[None], rows["v_unshared"].clone()[None]
    ops.kv_reorder(k, v, parent[:4] * 0, rows["row_start"], rows["live"], status, step=1)
    return {"code": code, "node": node, "score": score, "live": live, "k": k, "status": status}


def every_fifth() -> Catalogue:
    """Of the SIDs over three levels of 12 codes."""
    sids = np.stack(np.unravel_index(np.arange(0, 12**3, 5), (12, 12, 12)), axis=1)
    return Catalogue.from_sids(sids, level_sizes=(12, 12, 12))


def four_beams() -> Values:
    """Four beams of one request behind a prompt of nine tokens."""
    random = torch.Generator().manual_seed(3)
    prompt, unshared = (9, 2, 8), (4, 2, 2, 8)
    shapes: dict[str, tuple[int, ...]] = {"q": (4, 4, 8), "k": prompt, "v": prompt}
    shapes |= {"k_unshared": unshared, "v_unshared": unshared}
    integers = {"prompt_start": [0], "prompt_len": [9], "row_start": [0, 4], "live": [4]}
    return {name: torch.randn(shape, generator=random) for name, shape in shapes.items()} | {
        name: torch.tensor(value, dtype=torch.int32) for name, value in integers.items()
    }


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return every_fifth()


@pytest.fixture
def rows() -> Values:
    return four_beams()


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # inductor's own imports
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_program_compiles_whole(backend: str, rows: Values, catalogue: Catalogue) -> None:
    constraint = xgr.torch.constraint(catalogue, [catalogue.filter(exclude=[0])])
    want = decode(rows, constraint, 8)
    got = torch.compile(decode, fullgraph=True, backend=backend)(rows, constraint, 8)
    torch.testing.assert_close(got, want)
    assert want["live"].tolist() == [8]


def test_another_width_is_no_error_of_a_dynamic_program(rows: Values, catalogue: Catalogue) -> None:
    constraint = xgr.torch.constraint(catalogue)
    compiled = torch.compile(decode, fullgraph=True, backend="aot_eager", dynamic=True)
    for width in (8, 5):
        torch.testing.assert_close(
            compiled(rows, constraint, width), decode(rows, constraint, width)
        )


def test_a_catalogue_and_filters_constrain(catalogue: Catalogue) -> None:
    catalogue.register_filter("even", allow=range(0, catalogue.num_items, 2))
    filters = [catalogue.filter(exclude=[1, 2], named=["even"]), None]
    level = catalogue.depth - 1
    nodes = torch.tensor([0, 1, 5], dtype=torch.int32)
    masked = torch.ops.xgr.mask_filter(
        torch.zeros(3, 12), nodes, torch.tensor([0, 2, 3], dtype=torch.int32),
        torch.tensor([2, 1], dtype=torch.int32), level=level,
        **xgr.torch.constraint(catalogue, filters),
    )  # fmt: skip
    first = catalogue.levels[level - 1].first_child
    assert first is not None
    for row, node in enumerate(nodes.tolist()):
        leaves = range(first[node], first[node + 1])
        kept = [i for i in leaves if row == 2 or (i % 2 == 0 and i not in (1, 2))]
        codes = [int(catalogue.levels[level].code[leaf]) for leaf in kept]
        assert torch.nonzero(masked[row] == 0).flatten().tolist() == codes


def test_threads_share_no_workspace() -> None:
    found: list[Any] = [launch._LANES.get("cpu"), launch._LANES.get("cpu")]
    thread = threading.Thread(target=lambda: found.append(launch._LANES.get("cpu")))
    thread.start()
    thread.join()
    mine, again, other = found
    assert mine is again
    assert mine is not other


# -- what is refused ------------------------------------------------------------------------------


def test_shapes_are_refused_before_anything_runs() -> None:
    with pytest.raises(InputError, match=r"swiglu: .*need \[N, I2\]"):
        torch.ops.xgr.swiglu(torch.zeros(4, device="meta"))
    with pytest.raises(InputError, match=r"linear: axis I is 5 in weight and 4 in x"):
        torch.ops.xgr.linear(torch.zeros(2, 4), torch.zeros(3, 5))


def test_dtypes_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="embed: ids is int64, need int32"):
        torch.ops.xgr.embed(torch.zeros(2, dtype=torch.int64), torch.zeros(3, 4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c["trie"].pop(),
            r"trie is a list of 4 tensors and level_sizes is \[12, 12, 12\]",
        ),
        (lambda c: c.pop("level_sizes"), "level_sizes is None"),
        (lambda c: c["trie"].insert(0, c["trie"].pop(0).long()), r"trie\[0\] is torch.int64"),
        (
            lambda c: c["trie"].insert(1, c["trie"].pop(1)[:-1]),
            r"trie\[1\] has 12 elements, need 13",
        ),
        (lambda c: c["level_sizes"].__setitem__(1, 13), "has 13 codes, and the scores have 12"),
        (lambda c: c["filters"].pop(), "filters are 6 tensors: need kind, start, nodes, mask"),
        (
            lambda c: c["filters"].insert(0, c["filters"].pop(0).float()),
            "filters, kind is torch.fl",
        ),
    ],
)
def test_a_wrong_structure_is_refused(
    change: Callable[[Values], Any], message: str, rows: Values, catalogue: Catalogue
) -> None:
    constraint = xgr.torch.constraint(catalogue, [None])
    change(constraint)
    with pytest.raises(InputError, match=message):
        decode(rows, constraint, 8)

"""What the backend calls exists in torch_npu under these names, with these arguments."""

from __future__ import annotations

from tests.ascend.device import need_torch_npu

need_torch_npu()

from typing import Any  # noqa: E402

import pytest  # noqa: E402
import torch  # noqa: E402

from tests.ascend.recorded import TWINS, Call, launch, recording, supported  # noqa: E402
from tests.ascend.schema.golden import committed, installed  # noqa: E402
from xgr.backends.ascend import _compat  # noqa: E402
from xgr.backends.ascend.kernels import KERNELS  # noqa: E402

LIBRARY = ("ascend.fia", "ascend.update", "ascend.library")


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Every library call of every conformance case."""
    with pytest.MonkeyPatch.context() as patch, recording(patch) as made:
        for kernel in KERNELS:
            if kernel.name in LIBRARY:
                for case, values in supported(kernel.op, kernel.name):
                    launch(kernel.name, case, values)
    return made


def test_schemas_are_those_that_were_tried() -> None:
    assert installed() == committed(), "python -m tests.ascend.schema.golden, and read the diff"


def test_nothing_is_missing() -> None:
    assert list(_compat.missing_operators()) == []


def test_every_call_binds(calls: list[Call]) -> None:
    assert {call.name for call in calls} == set(_compat.SCHEMAS)
    for call in calls:
        declared = {a.name: a for a in _compat.operator(call.name)._schema.arguments}
        assert set(call.arguments) <= set(declared), call.name
        missing = {n for n, a in declared.items() if not a.has_default_value()}
        assert missing <= set(call.arguments), call.name
        for name, value in call.arguments.items():
            assert fits(str(declared[name].type), value), (call.name, name, value)


def test_probed_arguments_are_the_passed_ones(calls: list[Call]) -> None:
    passed: dict[str, set[str]] = {}
    for call in calls:
        passed.setdefault(call.name, set()).update(call.arguments)
    assert passed == {name: set(known) for name, known in _compat.SCHEMAS.items()}


def test_calls_without_a_meta_kernel_have_no_other(calls: list[Call]) -> None:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for name in _compat.SCHEMAS:
        assert has(name, "PrivateUse1"), name
        assert has(name, "Meta") == (name not in TWINS), name


def test_an_unknown_argument_is_refused() -> None:
    x = torch.empty(4, 8, device="meta")
    with pytest.raises(RuntimeError, match="num_heads"):
        _compat.call("npu::npu_swiglu", input=x, num_heads=8)


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("npu::npu_swiglu", ("input", "dims"), "npu::npu_swiglu without dims"),
        ("npu::npu_no_such", ("input",), "no npu::npu_no_such"),
    ],
)
def test_another_torch_npu_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, name: str, known: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(_compat, "SCHEMAS", {name: known})
    reasons = [r for r in _compat.missing_operators() if r.code == "operator"]
    assert [reason.got for reason in reasons] == [told]
    assert "pip install" in reasons[0].hint


def fits(kind: str, value: Any) -> bool:
    """Whether a value is of a schema's type."""
    if kind.startswith("Optional["):
        return value is None or fits(kind[9:-1], value)
    if kind.startswith("List["):
        return isinstance(value, list) and all(fits(kind[5:-1], one) for one in value)
    types: dict[str, Any] = {"Tensor": torch.Tensor, "int": int, "float": (int, float), "str": str}
    return isinstance(value, bool) == (kind == "bool") and isinstance(value, types.get(kind, bool))

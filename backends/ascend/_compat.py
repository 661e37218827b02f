# torch_npu has no types:
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-call, unused-ignore"
"""The only contact with torch_npu: what must be there is probed by schema."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from xgr.errors import BackendMissing, Reason

INSTALL = 'pip install "xgr[ascend]"'
CANN = "source /usr/local/Ascend/ascend-toolkit/set_env.sh"

# torch_npu pairs with the torch of the same major and minor version; those that were tried
TRIED = ("2.13",)

# operators that are called, and the arguments that are passed by name
SCHEMAS: Mapping[str, tuple[str, ...]] = {
    "npu::npu_fused_infer_attention_score_v2.out": (
        "query", "key", "value", "atten_mask", "actual_seq_qlen", "actual_seq_kvlen",
        "block_table", "num_query_heads", "num_key_value_heads", "softmax_scale", "input_layout",
        "sparse_mode", "block_size", "return_softmax_lse", "workspace", "out",
    ),
    "npu::_npu_fused_infer_attention_score_v2_get_max_workspace": (
        "query", "key", "value", "atten_mask", "actual_seq_qlen", "actual_seq_kvlen",
        "block_table", "num_query_heads", "num_key_value_heads", "softmax_scale", "input_layout",
        "sparse_mode", "block_size", "return_softmax_lse",
    ),
    "npu::npu_attention_update": ("lse", "local_out", "update_type"),
    "npu::npu_rms_norm": ("input", "gamma", "epsilon"),
    "npu::npu_add_rms_norm_v2": ("x1", "x2", "gamma", "epsilon"),
    "npu::npu_swiglu": ("input", "dim"),
    "npu::npu_geglu": ("input", "dim", "approximate", "activate_left"),
    "npu::npu_rotary_mul": ("input", "r1", "r2", "rotary_mode"),
    "npu::npu_scatter_nd_update_": ("input", "indices", "updates"),
}  # fmt: skip

# operators of torch that only newer versions of torch_npu implement
IMPLEMENTED = ("aten::mm.dtype_out",)

# functions of torch.npu
FUNCTIONS = (
    "NPUGraph", "graph_pool_handle", "graph_task_group_begin", "graph_task_group_end",
    "graph_task_update_begin", "graph_task_update_end", "set_stream_limit", "get_stream_limit",
)  # fmt: skip


def npu() -> Any:
    """`torch.npu`, with torch_npu imported.

    Raises:
        BackendMissing: it cannot be imported, with the command that mends it.
    """
    reasons = tuple(_imports())
    if reasons:
        raise BackendMissing("; ".join(map(str, reasons)))
    import torch

    module: Any = torch.npu  # type: ignore[attr-defined]
    return module


def call(name: str, /, **arguments: Any) -> Any:
    """Launch an operator of `torch.ops`: `call("npu::npu_swiglu", input=x, dim=-1)`.

    Args:
        name: namespace, operator and, where it is not the default one, overload.
        arguments: by the names of its schema.
    """
    return operator(name)(**arguments)


@functools.cache
def operator(name: str) -> Any:
    """An operator of `torch.ops` by "namespace::name" or "namespace::name.overload"."""
    import torch

    space, _, rest = name.partition("::")
    operator_name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, space), operator_name)
    return getattr(packet, overload or "default")


def versions() -> str:
    """Versions of torch and torch_npu, for people."""
    import torch
    import torch_npu

    return f"torch {torch.__version__}, torch_npu {torch_npu.__version__}"


def missing() -> Iterator[Reason]:
    """What keeps the backend from running here, each with the command that mends it."""
    found = tuple(_imports())
    yield from found
    if found:
        return
    yield from missing_operators()
    if not npu().is_available():
        yield Reason("device", "none", "an Ascend NPU", "`npu-smi info` must list one")


def _imports() -> Iterator[Reason]:
    if importlib.util.find_spec("torch_npu") is None:
        yield Reason("torch_npu", "none", "torch with torch_npu", INSTALL)
        return
    try:
        import torch
        import torch_npu
    except Exception as error:  # a broken installation raises anything
        got = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        yield Reason("cann", got, "torch_npu and the CANN that it is built for", CANN)
        return
    yield from _versions(torch, torch_npu)


def _versions(torch: ModuleType, torch_npu: ModuleType) -> Iterator[Reason]:
    ours, theirs = (_minor(module.__version__) for module in (torch, torch_npu))
    if ours != theirs:
        hint = f'pip install "torch_npu=={ours}.*"'
        got = f"torch {torch.__version__} with torch_npu {torch_npu.__version__}"
        yield Reason("version", got, "versions that agree in major and minor number", hint)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def missing_operators() -> Iterator[Reason]:
    """Operators, arguments and functions that this torch_npu does not have."""
    import torch

    hint = f'pip install "torch_npu=={TRIED[-1]}.*" "torch=={TRIED[-1]}.*"'
    for name, arguments in SCHEMAS.items():
        try:
            schema = operator(name)._schema
        except AttributeError:
            yield Reason("operator", f"no {name}", "the operators that kernels call", hint)
            continue
        unknown = sorted(set(arguments) - {argument.name for argument in schema.arguments})
        if unknown:
            yield Reason("operator", f"{name} without {', '.join(unknown)}", str(arguments), hint)
    for name in IMPLEMENTED:
        if not torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1"):
            yield Reason("operator", f"no {name} on NPUs", "a torch_npu that implements it", hint)
    for name in FUNCTIONS:
        if not hasattr(npu(), name):
            yield Reason("function", f"no torch.npu.{name}", "the functions that are called", hint)

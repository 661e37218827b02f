"""Triton kernels lowered to the linalg IR that Ascend's compiler takes, without a device."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# of the values that a launch fixes; the compiled kernel is the same for all targets of A2 and A3
_TARGET = "Ascend910B3"


@dataclass(frozen=True)
class Signature:
    """What a kernel is compiled for.

    Attributes:
        kernel: the JIT function.
        types: Triton's type of each argument that is passed, in order.
        constants: the other arguments.
    """

    kernel: Any = field(repr=False)
    types: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        """The kernel's, which is its symbol."""
        return str(self.kernel.__name__)


def signature(kernel: Any, arguments: Mapping[str, Any]) -> Signature:
    """Types of a launch, with no value specialised: tensors, numbers, None for a constant."""
    types, constants = {}, {}
    for parameter in kernel.params:
        value = arguments[parameter.name]
        if parameter.is_constexpr or value is None:
            constants[parameter.name] = value
        else:
            types[parameter.name] = type_of(value)
    return Signature(kernel, tuple(types.items()), tuple(constants.items()))


def type_of(value: Any) -> str:
    """Triton's name of an argument's type."""
    from triton.runtime.jit import mangle_type

    return str(mangle_type(value))


@functools.cache
def linalg(of: Signature) -> str:
    """The kernel in linalg, through Triton's IR.

    Raises:
        AssertionError: the adapter refuses it, with what it says.
    """
    import subprocess

    from triton._C.libtriton import ir
    from triton.backends.ascend.compiler import make_ttir, ttir_to_linalg
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    os.environ.setdefault("TRITON_ASCEND_ARCH", _TARGET)
    target = GPUTarget("npu", _TARGET, 0)
    backend = make_backend(target)
    options = backend.parse_options({})
    metadata = {"hash": of.name, "target": target, **options.__dict__}
    types = dict(of.types) | {name: "*i8" for name, value in of.constants if value is None}
    order = [p.name for p in of.kernel.params if p.name in types]
    source = ASTSource(
        fn=of.kernel, signature={name: types[name] for name in order}, constants=dict(of.constants)
    )
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generators = backend.get_codegen_implementation()
    module = source.make_ir(options, generators, backend.get_module_map(), context)
    try:
        lowered = make_ttir(module, metadata, options)
        return str(ttir_to_linalg(lowered, metadata, options, named_ops=True))
    except subprocess.CalledProcessError as error:
        raise AssertionError(f"{of.name}: {error.stderr.decode()[-3000:]}") from error

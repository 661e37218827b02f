"""Linalg of a Triton kernel lowered to this machine and called.

The parameters of the lowered function are memrefs of rank 1 (pointer, aligned pointer, offset,
size, stride): a lock for blocks and a workspace that these kernels do not use, the arguments, then
the grid's sizes and the program's place in it.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.ascend.triton.compiled.launches import Launch
from tests.ascend.triton.compiled.linalg import Signature, linalg
from tests.ascend.triton.compiled.toolchain import bishengir, llvm

PASSES = (
    "--convert-elementwise-to-linalg",
    "--eliminate-empty-tensors",
    "--empty-tensor-to-alloc-tensor",
    "--one-shot-bufferize=allow-return-allocs-from-loops=true",
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-math-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--convert-cf-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--reconcile-unrealized-casts",
)

# what MLIR's runner library and newer compilers' provide: a copy between strided memrefs of any
# rank, and float32 rounded to bfloat16, which is returned in the low half of a float's register;
# and a memref at an address
RUNTIME = """
#include <cstdint>
#include <cstring>
struct Unranked { int64_t rank; void* memref; };
static void copy(int64_t item, char* from, const int64_t* from_stride, char* to,
                 const int64_t* to_stride, const int64_t* size, int64_t rank) {
  if (rank == 0) { std::memcpy(to, from, item); return; }
  for (int64_t i = 0; i < size[0]; ++i)
    copy(item, from + i * from_stride[0] * item, from_stride + 1,
         to + i * to_stride[0] * item, to_stride + 1, size + 1, rank - 1);
}
extern "C" void memrefCopy(int64_t item, Unranked* source, Unranked* target) {
  struct Head { char* base; char* data; int64_t offset; int64_t rest[1]; };
  auto* from = static_cast<Head*>(source->memref);
  auto* to = static_cast<Head*>(target->memref);
  int64_t rank = source->rank;
  copy(item, from->data + from->offset * item, from->rest + rank,
       to->data + to->offset * item, to->rest + rank, from->rest, rank);
}
extern "C" float __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = value != value ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  std::memcpy(&value, &bits, 4);
  return value;
}
struct Memref { void* base; void* data; int64_t offset; int64_t size; int64_t stride; };
extern "C" Memref memref_at(int64_t address, int64_t size) {
  void* data = reinterpret_cast<void*>(address);
  return {data, data, 0, size, 1};
}
"""

# an address that was read from memory, which only HIVM has an operation for
_ADDRESS = re.compile(r"hivm\.hir\.pointer_cast\((%\w+)\) \[(%\w+)\] : memref<\?xi32>")
_CALL = r"func.call @memref_at(\1, \2) : (i64, index) -> memref<?xi32>"
# in which memory it is
_MARK = re.compile(r"^ *annotation\.mark .*\n", re.MULTILINE)
_DECLARED = "  func.func private @memref_at(i64, index) -> memref<?xi32>\n"

_NUMBERS: dict[str, Any] = {
    "i1": ctypes.c_bool,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "fp32": ctypes.c_float,
}


def run(launch: Launch) -> None:
    """Run every program of a launch on CPU tensors, one after the other."""
    function = compiled(launch.signature)
    arguments = [*_memref(None), *_memref(None)]
    for (_, kind), value in zip(launch.signature.types, launch.passed, strict=True):
        arguments += _memref(value) if kind.startswith("*") else [_NUMBERS[kind](value)]
    sizes = [ctypes.c_int32(n) for n in launch.grid]
    for place in itertools.product(*map(range, launch.grid)):
        function(*arguments, *sizes, *map(ctypes.c_int32, place))


def _memref(tensor: Any) -> list[Any]:
    pointer = ctypes.c_void_p(tensor.data_ptr() if tensor is not None else 0)
    size = ctypes.c_int64(1 << 40)  # not read: a kernel's masks are its bounds
    return [pointer, pointer, ctypes.c_int64(0), size, ctypes.c_int64(1)]


@functools.cache
def compiled(of: Signature) -> Any:
    """The kernel as a function of this process.

    Raises:
        AssertionError: a step of the way refuses it, with what it says.
    """
    with tempfile.TemporaryDirectory(prefix=f"{of.name}-") as folder:
        function = getattr(ctypes.CDLL(str(_built(of, Path(folder)))), of.name)
    function.restype = None
    return function


def _built(of: Signature, folder: Path) -> Path:
    """A shared library in the folder; once loaded it is needed no more."""
    text, reads_addresses = _ADDRESS.subn(_CALL, linalg(of))
    if reads_addresses:
        text = text.replace("module {\n", "module {\n" + _DECLARED, 1)
        text = _MARK.sub("", text)
    (folder / "kernel.mlir").write_text(text)
    (folder / "runtime.cpp").write_text(RUNTIME)
    steps = (
        [bishengir("opt"), "kernel.mlir", *PASSES, "-o", "lowered.mlir"],
        [llvm("mlir-translate"), "lowered.mlir", "--mlir-to-llvmir", "-o", "kernel.ll"],
        [llvm("opt"), "-O1", "kernel.ll", "-o", "kernel.bc"],
        [llvm("llc"), "-relocation-model=pic", "-filetype=obj", "kernel.bc", "-o", "kernel.o"],
        ["g++", "-shared", "-fPIC", "-O1", "kernel.o", "runtime.cpp", "-lm", "-o", "kernel.so"],
    )
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{of.name}: {Path(step[0]).name}: {done.stderr[-3000:]}"
    return folder / "kernel.so"

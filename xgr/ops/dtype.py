"""Element types, named as in NumPy and torch; backends map them to their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)  # one object a type: identity is equality
class DType:
    """An element type: its field-wide name and its size in bytes."""

    name: str
    itemsize: int

    def __str__(self) -> str:
        return self.name


float64 = DType("float64", 8)
float32 = DType("float32", 4)
float16 = DType("float16", 2)
bfloat16 = DType("bfloat16", 2)
int64 = DType("int64", 8)
int32 = DType("int32", 4)
uint32 = DType("uint32", 4)

DTYPES = {t.name: t for t in (float64, float32, float16, bfloat16, int64, int32, uint32)}
MODEL_DTYPES = ("float32", "bfloat16", "float16")


def dtype(name: str | DType) -> DType:
    """The `DType` of a name; an unknown name lists the known ones."""
    if isinstance(name, DType):
        return name
    if name not in DTYPES:
        raise ValueError(f"dtype {name!r} is not known; known: {', '.join(DTYPES)}")
    return DTYPES[name]

"""What is known of each chip without a device: its cores and its on-chip memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from xgr.errors import InputError

KIB = 1 << 10
MIB = 1 << 20

# the figures of the rows below, of the compiler and of the public architecture notes
COMPILER = "dlti.target_system_spec of bishengir-compile 1.2.0"
NOTES = "AscendC architecture notes for NPU architecture 2201"


@dataclass(frozen=True, slots=True)
class SocSpec:
    """A chip as kernels are planned for it.

    Attributes:
        name: as `torch.npu.get_device_name` gives it.
        cube_cores: AI cores with a matrix unit (AIC).
        vector_cores: AI cores with a vector unit (AIV), two beside each AIC.
        ub: unified buffer of an AIV, bytes.
        l1, l0a, l0b, l0c: buffers of an AIC, bytes.
        bias_table: the AIC's table of biases, bytes.
        l2: cache that all cores share, bytes.
        l2_line: bytes of a line of it.
        arch: the architecture that binaries are built for.
        source: where the figures come from.
    """

    name: str
    cube_cores: int
    vector_cores: int
    ub: int = 192 * KIB
    l1: int = 512 * KIB
    l0a: int = 64 * KIB
    l0b: int = 64 * KIB
    l0c: int = 128 * KIB
    bias_table: int = KIB
    l2: int = 192 * MIB
    l2_line: int = 512
    arch: str = "2201"
    source: str = f"{COMPILER}; L2: {NOTES}"

    @property
    def usable_ub(self) -> int:
        """Bytes of UB that a kernel may plan with: 8 KiB and 256 bytes are the system's."""
        return self.ub - 8 * KIB - 256

    def facts(self) -> tuple[str, ...]:
        """The figures, for people: a line each."""
        kib = {name: getattr(self, name) // KIB for name in ("l1", "l0a", "l0b", "l0c", "ub")}
        return (
            f"{self.name}: {self.cube_cores} AIC and {self.vector_cores} AIV, NPU architecture "
            f"{self.arch}, L2 {self.l2 // MIB} MiB in lines of {self.l2_line} bytes",
            f"  AIC: L1 {kib['l1']} KiB, L0A {kib['l0a']} KiB, L0B {kib['l0b']} KiB, L0C "
            f"{kib['l0c']} KiB, table of biases {self.bias_table} bytes",
            f"  AIV: UB {kib['ub']} KiB, of which a kernel plans with {self.usable_ub} bytes",
            f"  source: {self.source}",
        )


_LARGE = ("Ascend910B1", "Ascend910B2", "Ascend910B2C")
_LARGE_A3 = ("Ascend910_9381", "Ascend910_9382", "Ascend910_9391", "Ascend910_9392")
_SMALL = ("Ascend910B3", "Ascend910B4", "Ascend910B4-1")
_SMALL_A3 = ("Ascend910_9362", "Ascend910_9372")

SOCS: Mapping[str, SocSpec] = {
    **{name: SocSpec(name, 24, 48) for name in (*_LARGE, *_LARGE_A3)},
    **{name: SocSpec(name, 20, 40) for name in (*_SMALL, *_SMALL_A3)},
}


def spec(name: str) -> SocSpec:
    """The row of a chip.

    Raises:
        InputError: the chip is not in the table.
    """
    if name not in SOCS:
        raise InputError(f"SoC {name!r} is not known; known: {', '.join(SOCS)}")
    return SOCS[name]


def measured(known: SocSpec | None, properties: Any) -> SocSpec:
    """A row with what the device itself says in place of the table.

    Args:
        known: the row, None where the table has none.
        properties: what `torch.npu.get_device_properties` returns; attributes that this version
            does not have leave the table's figures.

    Raises:
        InputError: the chip is not in the table and the device does not tell its cores.
    """
    told: dict[str, Any] = {
        field: int(value)
        for field, attribute in (
            ("cube_cores", "cube_core_num"),
            ("vector_cores", "vector_core_num"),
            ("l2", "L2_cache_size"),
        )
        if (value := getattr(properties, attribute, 0)) and int(value) > 0
    }
    if known is None:
        name = str(getattr(properties, "name", "unknown"))
        if not {"cube_cores", "vector_cores"} <= set(told):
            raise InputError(
                f"SoC {name!r} is not known and does not tell its cores; known: {', '.join(SOCS)}"
            )
        known = SocSpec(name, 0, 0, source="none: sizes of NPU architecture 2201 are assumed")
    changed = [field for field, value in told.items() if getattr(known, field) != value]
    if not changed:
        return known
    origin = f"{known.source}; {', '.join(changed)}: the device's properties"
    return replace(known, **told, source=origin)


@dataclass(frozen=True, slots=True)
class CoreGroup:
    """Cores that a stream may use."""

    cube: int
    vector: int


def partition(soc: SocSpec, shared: float, unshared: float) -> tuple[CoreGroup, CoreGroup]:
    """Core groups of the shared and the unshared stage, in proportion to their work.

    A group keeps whole AI cores, one AIC with its AIVs, since kernels that use both need them in
    that ratio; each stage has at least one.

    Raises:
        InputError: a stage's work is negative, or there is none at all.
    """
    if min(shared, unshared) < 0 or shared + unshared <= 0:
        raise InputError(f"work of {shared} and {unshared}, need 0 or more and not both 0")
    cubes = round(soc.cube_cores * shared / (shared + unshared))
    return divided(soc, min(max(cubes, 1), soc.cube_cores - 1))


def divided(soc: SocSpec, shared: int) -> tuple[CoreGroup, CoreGroup]:
    """Core groups of `shared` AIC with the AIVs beside them, and of the rest.

    Raises:
        InputError: a group has no AIC.
    """
    if not 1 <= shared < soc.cube_cores:
        raise InputError(f"shared={shared} AIC of {soc.cube_cores}, need 1..{soc.cube_cores - 1}")
    ratio, rest = soc.vector_cores // soc.cube_cores, soc.cube_cores - shared
    return CoreGroup(shared, ratio * shared), CoreGroup(rest, ratio * rest)

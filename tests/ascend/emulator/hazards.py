"""What the emulator says of each hazard: of a small kernel each, and of faults in the real ones."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tests.ascend.emulator import ops
from tests.ascend.emulator.built import HERE, compiled
from tests.ascend.emulator.machine import Hazard, Order
from xgr.ops import spec
from xgr.ops.spec import Case

# hazard of hazards.cpp -> part of the message that no other hazard has
SMALL: Mapping[str, str] = {
    "unaligned_operand": "Adds is at UB byte 4, need a multiple of 32",
    "unified_buffer_overflow": "188192 more exceed the 188160 there are",
    "too_many_buffers": "more than 64 buffers",
    "local_tensor_too_short": "local tensor of 256 elements, 264 are asked for",
    "global_tensor_too_short": "global tensor of 8 elements, 16 are asked for",
    "partial_overlap": "Adds: source and destination overlap",
    "repeat_reads_what_one_wrote": "a repeat reads what an earlier one writes",
    "mask_beyond_a_repeat": "mask 65, allowed: 1 to 64",
    "compare_of_part_of_a_repeat": "72 elements are no multiple of 256 bytes",
    "order_of_integers": "int32_t can only be compared for equality",
    "select_mode": "a scalar needs VSEL_TENSOR_SCALAR_MODE",
    "reduction_works_in_its_source": "ReduceMax: source and destination overlap",
    "gather_inside_an_element": "an offset of 6 bytes is inside an element",
    "copy_of_part_of_a_block": "48 bytes are no multiple of 32: need DataCopyPad",
    "copy_to_veccalc": "a buffer at VECCALC; copies need VECIN or VECOUT",
    "too_many_blocks": "4096 blocks of 0, at most 4095",
    "tail_rounded_up": "an access of 64 bytes is 16 bytes beyond buffer input",
    "write_out_of_bounds": "an access of 64 bytes is 32 bytes beyond buffer output",
    "write_into_an_input": "writes into the input input",
    "undefined_unified_buffer": "V reads UB byte 1280, which nothing has written",
    "undefined_workspace": "reads byte 0 of scratch, which nothing has written",
    "undefined_tail_of_gathered": "V reads UB byte 1296, which nothing has written",
    "freed_tensor_read_again": "V reads UB byte 0, which nothing has written",
    "queue_without_buffers": "a queue is used that InitBuffer has not seen",
    "more_tensors_than_buffers": "all 2 buffers of which are in use",
    "more_than_eight_outstanding": "more than 8 tensors of one position",
    "enqueue_beyond_depth": "EnQue beyond the depth 1",
    "enqueue_twice": "EnQue of a tensor that is not allocated",
    "dequeue_from_empty": "DeQue from queue VECIN 0, which is empty",
    "free_twice": "that is free",
    "free_while_queued": "that is still in queue",
    "tensor_of_another_queue": "is not of queue VECIN 1",
    "tensor_never_freed": "a tensor of queue VECIN 0 was never freed",
    "compute_before_load": "missing synchronisation: V reads UB block 0 that MTE2 wrote",
    "store_before_compute": "missing synchronisation: MTE3 reads UB block 32 that V wrote",
    "scalar_reads_before_vector": "missing synchronisation: S reads UB block 32 that V wrote",
    "vector_reads_before_scalar": "missing synchronisation: V reads UB block 32 that S wrote",
    "scalar_reads_before_load": "missing synchronisation: S reads UB block 0 that MTE2 wrote",
    "store_before_scalar": "missing synchronisation: MTE3 reads UB block 32 that S wrote",
    "no_barrier_between_vectors": "missing synchronisation: V reads UB block 32 that V wrote",
    "load_over_what_is_computed_on": "missing synchronisation: MTE2 writes UB block 0 that V read",
    "load_over_what_is_stored": "missing synchronisation: MTE2 writes UB block 32 that MTE3 read",
    "compute_over_what_is_stored": "missing synchronisation: V writes UB block 32 that MTE3 read",
    "stores_that_overlap": "MTE3 writes global memory that MTE3 wrote",
    "load_of_what_is_being_stored": "MTE2 reads global memory that MTE3 wrote",
    "flag_set_twice": "flag V_S 0 is set twice with no wait between",
    "flag_set_before_its_wait": "flag MTE2_V 0 is set again while the wait for its last setting",
    "wait_for_nothing": "waits for flag V_S 1, which nothing has set",
    "flag_never_awaited": "flag V_S was set and never waited for",
    "no_such_event_id": "event id 8, there are 0 to 7",
    "event_ids_exhausted": "no event id is left of V_S",
    "event_id_never_released": "an event id was never released",
    "event_id_released_twice": "event id V_S 0 is released and was not taken",
    "two_cores_write_one_byte": "race between cores: writes global memory that core",
    "read_of_another_cores_write": "race between cores: ",
    "meeting_in_flight": "SyncAll while V is still at work",
    "meeting_in_a_vector_kernel": "SyncAll in a kernel of a kind that cannot meet",
    "a_core_does_not_come": "1 of 2 cores wait in SyncAll for ever",
    "scalar_write_to_global": "scalar write to global memory",
    "scalar_cache_is_stale": "scalar read of global memory that this launch has written",
    "nan_in_max": "Max: meets a NaN",
    "nan_in_compare": "CompareScalar: meets a NaN",
    "nan_in_reduction": "ReduceMax: meets a NaN",
    "nan_in_sort": "Sort32: meets a NaN",
    "sort_of_too_much": "Sort32: repeats 256 times, at most 255",
    "sort_to_an_unaligned_place": "the destination is at UB byte 4128, need a multiple of 256",
    "merge_of_unsorted": "list 0 is not in descending order",
    "merge_of_a_long_list": "a list of 4096 pairs, at most 4095",
    "merge_of_one_list": "validBit 1, allowed: 3, 7, 15",
    "merge_in_place": "MrgSort: source and destination overlap",
}


@functools.cache
def _small() -> tuple[ctypes.CDLL, Mapping[str, int]]:
    library = ctypes.CDLL(
        str(compiled("hazards", [HERE / "hazards.cpp"], headers=HERE / "hazards_of"))
    )
    library.hazard_name.restype = library.hazard_run.restype = ctypes.c_char_p
    names: dict[str, int] = {}
    while name := library.hazard_name(len(names)):
        names[name.decode()] = len(names)
    return library, names


def small_names() -> list[str]:
    """Hazards that have a kernel."""
    return list(_small()[1])


def run_small(name: str, wrong: bool) -> str:
    """The emulator's message, empty when it found nothing."""
    library, names = _small()
    message: bytes = library.hazard_run(names[name], int(wrong))
    return message.decode()


@dataclass(frozen=True)
class Fault:
    """A fault that can be switched on in a kernel.

    Attributes:
        run: launches the kernel with the fault of a given name, or none.
        message: part of what the emulator says.
    """

    run: Callable[[str], None]
    message: str


def run_fault(name: str, on: bool) -> str:
    """The emulator's message, empty when it found nothing."""
    try:
        FAULTS[name].run(name if on else "")
    except Hazard as found:
        return str(found)
    return ""


def _reorder(rows: int) -> Callable[[str], None]:
    def run(fault: str) -> None:
        sizes = {"L": 1, "R": rows, "S": 2, "G": 1, "d": 16, "B": 1}
        host = spec("kv_reorder").build(Case("kv_reorder", sizes, flags={"step": 1}))
        ops.kv_reorder(**host, cores=2, fault=fault)

    return run


def _sort(columns: int, width: int = 40, nan: bool = False) -> Callable[[str], None]:
    def run(fault: str) -> None:
        rng = np.random.default_rng(0)
        rows = 8
        scores = rng.standard_normal((rows, columns)).astype(np.float32)
        scores[0, 0] = np.nan if nan else 0
        ops.beam_sort(
            scores=scores,
            cumulative=np.zeros(rows, np.float32),
            row_start=np.array([0, rows], np.int32),
            live=np.array([rows], np.int32),
            row_start_out=np.array([0, width], np.int32),
            out_width=np.array([width], np.int32),
            order="path",
            parent=np.zeros(width, np.int32),
            code=np.zeros(width, np.int32),
            score=np.zeros(width, np.float32),
            live_out=np.zeros(1, np.int32),
            cores=4,
            order_of_cores=Order(3),
            fault=fault,
        )

    return run


def _mask(fault: str) -> None:
    case = Case("mask_filter", {"B": 1, "R": 1, "K": 200}, flags={"level": 0, "items": 4000})
    host = spec("mask_filter").build(case)
    ops.mask_filter(**host, out=np.zeros((1, 200), np.float32), cores=2, fault=fault)


FAULTS: Mapping[str, Fault] = {
    "parents_not_awaited": Fault(_reorder(40), "S reads UB block 0 that MTE2 wrote"),
    "parents_overwritten": Fault(_reorder(2100), "MTE2 writes UB block 0 that S read"),
    "store_before_load": Fault(_reorder(40), "MTE3 reads UB block"),
    "half_reused_early": Fault(_reorder(2100), "that MTE3 read"),
    "one_flag_for_two_sides": Fault(_reorder(2100), "flag MTE2_MTE3 0 is set again while"),
    "rows_in_one_pass": Fault(_reorder(2100), "MTE2 reads global memory that MTE3 wrote"),
    "tile_tail_unset": Fault(_sort(70), "V reads UB byte"),
    "tail_not_padded": Fault(_sort(300), "V reads UB byte"),
    "no_barrier_between_merges": Fault(_sort(300), "that V wrote"),
    "list_stored_unsorted": Fault(_sort(300, width=3000), "MTE3 reads UB block"),
    "survivors_not_awaited": Fault(_sort(300), "S reads UB block"),
    "lists_not_awaited": Fault(_sort(300), "V reads UB block"),
    "maxima_unset": Fault(_sort(300, nan=True), "MTE3 reads UB byte"),
    "bits_not_awaited": Fault(_mask, "that S wrote"),
}

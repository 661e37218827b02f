"""The workspaces and launches of a beam step, bound to the sizes of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from xgr.backends.cuda.beam_step.blocks import Blocks
from xgr.backends.cuda.beam_step.emit import emit
from xgr.backends.cuda.beam_step.floor import SLACK, find_floor
from xgr.backends.cuda.beam_step.open import ROOM, open_groups
from xgr.backends.cuda.beam_step.scan import CHILDREN, EACH, ROW, TILE, UNIT, scan_rows
from xgr.backends.cuda.beam_step.select import select
from xgr.backends.cuda.device import architecture, chains
from xgr.ops.dtype import float32, int32
from xgr.registry.kernel import Context

# of a multiprocessor, and of a thread where many blocks share it: the compiler is told what is
# there, or it takes fewer and spills
REGISTERS, SHARED_REGISTERS = 65536, 128

# tiles of a row, at most, that are groups each
_TILES_EACH = 1024

# codes of a row that are read at once, at least: Triton reduces two tiles wrong (see `lanes`)
LEAST = 8 * TILE

_NORMS = {"level": ROW, "children": CHILDREN}


class Selector:
    """Chooses the best candidates of each request in five launches that wait for each other.

    Scores are not kept: a tile keeps its best logit, and the candidates of few tiles are computed
    again. So workspaces are as large as the problem says, whatever the catalogue, which a bind
    does not know: 17 MB for 8192 rows of 8192 codes, where scores would be 268 MB.

    Args:
        context: where workspaces come from; its config may set the attributes of `Blocks`.
        requests, rows, columns, targets: sizes of the problem; targets are output rows.
        ranked: survivors are wanted by rank, not by path.
        filtered: requests may have filters.
        strict: a score of -inf is no candidate.
    """

    def __init__(
        self,
        context: Context,
        *,
        requests: int,
        rows: int,
        columns: int,
        targets: int,
        ranked: bool,
        filtered: bool = False,
        strict: bool = False,
    ) -> None:
        self._requests, self._rows, self._targets = requests, rows, targets
        self._columns, self._ranked, self._strict = columns, ranked, strict
        self._lanes = power(requests)
        self._blocks = replace(Blocks(), **context.config)
        chained = bool(self._blocks.chained and chains())
        # left to itself, ptxas spills a few registers on others, for more blocks an SM
        self._whole = {} if architecture() == 90 else {"maxnreg": 255}
        self._chain = {"CHAINED": chained} | ({"launch_pdl": True} if chained else {})
        self._tiles = -(-columns // TILE)
        self._slots, self._shift = self._groups_of_row()

        empty = context.empty
        self._children = {name: empty((rows,), int32) for name in ("low_of", "count_of")}
        self._legal = empty((rows, self._tiles), int32) if filtered else None
        self._tile_max = empty((rows, self._tiles), int32)
        self._group_max = empty((rows, self._slots), int32)
        self._norm = empty((rows,), float32)
        # kept groups, each of which has a list of candidates for every part
        # never one tile alone: Triton 3.6 does not compile a scan over that
        of_group = max((UNIT << max(self._shift, 0)) // TILE, 1)
        self._opened = min(self._blocks.opened, max(of_group, 2))
        self._parts = max(of_group // self._opened, 1)
        self._places = targets + targets // SLACK
        self._groups_kept = empty((self._places,), int32)
        self._counts = {name: empty((requests,), int32) for name in ("groups_of", "listed")}
        self._floor, self._ceiling = empty((requests,), int32), empty((requests,), int32)
        lists = (self._places * self._parts,)
        self._listed_of, self._offset = empty(lists, int32), empty(lists, int32)
        size = ROOM * targets + self._blocks.spare * requests
        listed = ("keys", "children", "list_of", "index_of")
        self._candidates = {name: empty((size,), int32) for name in listed}
        joined = ("joined_rows", "joined_children")
        self._joined = {name: empty((size,), int32) for name in joined}
        self._joined_keys = empty((size,), int32)
        self._kept = {name: empty((targets,), int32) for name in ("kept", "kept_keys")}
        self._found = empty((requests,), int32)

    def launch(
        self,
        *,
        logits: Any,
        cumulative: Any,
        node: Any,
        row_start: Any,
        live: Any,
        row_start_out: Any,
        out_width: Any,
        outputs: Mapping[str, Any],
        live_out: Any,
        status: Any,
        level: Mapping[str, Any],
        normalize: str,
        lse: Any = None,
    ) -> None:
        """Scan the rows, find a floor, open groups, select, emit.

        Arguments are as beam_step has them; `status` and node_out may be None. `outputs` are
        parent_out, code_out, node_out and score_out, `level` is what `level_arguments` found, or
        `NOTHING` where there is no catalogue, and `lse` is that of "vocab".
        """
        constrained = level["descriptor"] is not None or level["code"] is not None
        root = level["level"] == 0
        mode = _NORMS.get(normalize, 0)
        if mode:
            lse = self._norm
            # every code is a child where there is no catalogue
            mode = mode if constrained else CHILDREN
        legal = self._legal if level["kind"] is not None else None
        matrix = {"logits": logits, "stride_row": logits.stride(0), "stride_code": logits.stride(1)}
        rows_in = {"row_start": row_start, "live": live}
        codes = {name: level[name] for name in ("descriptor", "code", "level")}
        scanned = {"tile_max": self._tile_max, "legal": legal}
        scores = {"cumulative": cumulative, "norm": lse}
        flags = {"TRIE": constrained, "STRICT": self._strict}
        groups = {"SLOTS": self._slots, "SHIFT": self._shift}
        blocks, columns, width = self._blocks, power(self._columns), self._width()

        whole = root or not constrained or mode == ROW
        # to look a child up in the filters takes registers
        wide, warps = blocks.block, blocks.warps
        if legal is not None:
            wide, warps = min(wide, 1024), min(warps, 2)
        block, gathered = (min(max(columns, LEAST), n) for n in (wide, blocks.gathered))
        most, warps = (block, warps) if whole else (gathered, blocks.gather_warps)
        scan_rows[(self._rows,)](
            **matrix, node=node, **rows_in, **level, **scores, **self._children, **scanned,
            group_max=self._group_max, B=self._requests, K=self._columns, tiles=self._tiles,
            **flags, **groups, ROOT=root, NORM=mode, REQUESTS=self._lanes, BLOCK=most,
            GATHERED=gathered, CHAINED=self._chain["CHAINED"],
            num_warps=min(warps, max(most // 256, 1)), maxnreg=SHARED_REGISTERS,
        )  # fmt: skip
        most_registers = min(REGISTERS // (32 * blocks.select_warps), 255)
        find_floor[(self._requests,)](
            self._group_max, **rows_in, row_start_out=row_start_out, out_width=out_width,
            floor=self._floor, ceiling=self._ceiling, groups_kept=self._groups_kept,
            **self._counts, status=status,
            SLOTS=self._slots, CHUNK=min(blocks.chunk, max(1024, self._mean_groups())),
            num_warps=blocks.select_warps, maxnreg=most_registers, **self._chain,
        )  # fmt: skip
        candidates = {
            "groups_kept": self._groups_kept, **self._counts, **scanned, **self._children,
            **scores, **matrix, **codes, "row_start": row_start, "row_start_out": row_start_out,
            "floor": self._floor, "listed_of": self._listed_of, **self._candidates,
            "K": self._columns, "tiles": self._tiles, **flags, **groups, "PARTS": self._parts,
            "SPARE": blocks.spare, "TILES": self._opened,
        }  # fmt: skip
        looked = min(blocks.looked, self._opened)
        open_groups[(self._places, self._parts)](
            **candidates, B=self._requests, REQUESTS=self._lanes,
            FEW=min(4, looked), LOOKED=looked, num_warps=blocks.open_warps, **self._whole,
            **self._chain,
        )  # fmt: skip
        large = min(blocks.chunk, max(1024, 8 * width))
        select[(self._requests,)](
            **candidates, out_width=out_width, ceiling=self._ceiling, offset_of=self._offset,
            **self._joined, joined_keys=self._joined_keys, **self._kept, found=self._found,
            LISTS=min(power((width + width // SLACK) * self._parts), 2048),
            SMALL=min(large, max(1024, 4 * width)),
            LARGE=large, STEP=min(blocks.step, large), num_warps=blocks.select_warps,
            maxnreg=most_registers, **self._chain,
        )  # fmt: skip
        emit[(-(-self._targets // 32),)](
            **self._kept, found=self._found, **self._joined, low_of=self._children["low_of"],
            **codes, row_start=row_start, row_start_out=row_start_out, **outputs,
            live_out=live_out, RO=self._targets, B=self._requests, REQUESTS=self._lanes,
            SPARE=blocks.spare, TRIE=constrained, RANKED=self._ranked, ROWS=32, COMPARED=256,
            num_warps=4, **self._whole, **self._chain,
        )  # fmt: skip

    def _groups_of_row(self) -> tuple[int, int]:
        """Groups that the units of a row are divided into, and log2 of the units of one.

        Eight: as many are cut as are then opened where W rows have W survivors. More rule out more
        candidates, where a cut holds them all in registers: twice as many, or four times where rows
        are short. Fewer rows, as at the first level, would have too few for a floor: each tile is
        one then.
        """
        few = 8 if self._columns <= 8192 else 32
        if self._rows * few < self._targets and self._tiles <= _TILES_EACH:
            return power(self._tiles), EACH
        mean = power(-(-self._rows // self._requests))
        units = -(-self._columns // UNIT)
        most = min(power(units), 4 * few if self._tiles <= 2 * few else 2 * few)
        slots = max(few, min(most, self._blocks.chunk // mean))
        return slots, power(-(-units // slots)).bit_length() - 1

    def _width(self) -> int:
        """A usual number of output rows of a request."""
        return power(-(-self._targets // self._requests))

    def _mean_groups(self) -> int:
        """A usual number of groups of a request."""
        return power(-(-self._rows // self._requests)) * self._slots


def power(size: int) -> int:
    """The least power of two that is not below `size`."""
    return 1 << max(size - 1, 0).bit_length()

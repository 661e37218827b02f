"""The workspaces and launches of a beam step, bound to the sizes of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xgr.backends.cuda.beam_step.cut import cut_groups, cut_kept
from xgr.backends.cuda.beam_step.emit import emit
from xgr.backends.cuda.beam_step.expand import expand_groups, expand_tiles
from xgr.backends.cuda.beam_step.scan import CHILDREN, ROW, TILE, scan_rows
from xgr.ops.dtype import float32, int32
from xgr.registry.kernel import Context

# programs that keep a device busy: rows are split until there are so many
PROGRAMS = 1024
# most keys that a block holds in registers, 32 a thread; it takes a quarter at once elsewhere
LARGEST_CHUNK = 16384

# of a thread of 16 warps: what is there, which the compiler would rather halve and spill
REGISTERS = 128

_NORMS = {"level": ROW, "children": CHILDREN}


class Selector:
    """Chooses the best candidates of each request.

    The best W candidates lie in the best W tiles, and those in the best W groups, where maxima
    are ranked as candidates are: a tile that is left out has W others before it, each with a
    candidate that comes before all of its own. So three exact cuts suffice: the groups, the tiles
    of W groups, the candidates of W tiles. Lists stay in (row, code) order, so equal keys are cut
    by their order and survivors are emitted without a sort.

    Scores are not kept: a tile keeps its best logit, and the candidates of W tiles are computed
    again. So workspaces are as large as the problem says, whatever the catalogue, which a bind
    does not know: 10 MB for 8192 rows of 8192 codes, where scores would be 268 MB.

    Args:
        context: where workspaces come from; its config may set `chunk` and `step`, the keys that
            a block holds in registers and takes at once.
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
        # groups of 1024: of 8192 codes 8 a row, and W groups leave 32 W tiles to look at
        self._ratio = 32 if columns <= 1 << 15 else 128
        self._groups = -(-columns // (self._ratio * TILE))
        self._tiles = self._groups * self._ratio
        self._splits = 1
        while 2 * self._splits <= self._groups and 2 * self._splits * rows <= PROGRAMS:
            self._splits *= 2
        most = max(targets * self._ratio, rows * self._groups)
        self._chunk = context.config.get("chunk", min(LARGEST_CHUNK, max(1024, power(most))))
        self._step = context.config.get("step", max(1024, self._chunk // 4))

        empty = context.empty
        self._children = {name: empty((rows,), int32) for name in ("low_of", "count_of")}
        self._legal = empty((rows, self._tiles), int32) if filtered else None
        self._tile_max = empty((rows, self._tiles), int32)
        self._group_max = empty((rows, self._groups), int32)
        self._parts = {
            "part_max": empty((rows, self._splits), int32),
            "part_sum": empty((rows, self._splits), float32),
        }
        self._norm = empty((rows,), float32)
        self._keys = empty((targets, self._ratio), int32)
        self._found = [empty((requests,), int32) for _ in range(3)]
        self._groups_kept, self._tiles_kept, self._kept, self._kept_keys = (
            empty((targets,), int32) for _ in range(4)
        )
        self._tile = {name: empty((targets,), int32) for name in ("tile_row", "tile_start")}

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
        """Scan the rows, cut three times, emit.

        Arguments are as beam_step has them; `status` and node_out may be None. `outputs` are
        parent_out, code_out, node_out and score_out, `level` is what `level_arguments` found, or
        `NOTHING` where there is no catalogue, and `lse` is that of "vocab".
        """
        constrained = level["descriptor"] is not None or level["code"] is not None
        mode = _NORMS.get(normalize, 0)
        if mode:
            lse = self._norm
            # every code is a child where there is no catalogue
            mode = mode if constrained else CHILDREN
        legal = self._legal if level["kind"] is not None else None
        matrix = {"logits": logits, "stride_row": logits.stride(0), "stride_code": logits.stride(1)}
        pitches = {"tiles": self._tiles, "groups": self._groups}
        rows_in = {"row_start": row_start, "live": live}
        rows_out = {"row_start_out": row_start_out, "out_width": out_width}
        scores = {"cumulative": cumulative, "norm": lse}
        codes = {name: level[name] for name in ("descriptor", "code", "level")}
        owners = {"B": self._requests, "REQUESTS": self._lanes}

        scan_rows[(self._rows, self._splits)](
            **matrix, node=node, **rows_in, **level, **self._children,
            tile_max=self._tile_max, group_max=self._group_max, legal=legal, **self._parts,
            K=self._columns, **pitches, **owners,
            TRIE=constrained, ROOT=level["level"] == 0, NORM=mode, RATIO=self._ratio,
            num_warps=max(4, self._ratio // 16),
        )  # fmt: skip
        warps = min(16, max(4, self._chunk // 512))
        cut_groups[(self._requests,)](
            group_max=self._group_max, kept=self._groups_kept, found=self._found[0],
            **rows_in, **rows_out, **scores, **self._parts,
            count_of=self._children["count_of"], status=status,
            K=self._columns, groups=self._groups,
            TRIE=constrained, NORM=mode, SPLITS=self._splits, STRICT=self._strict,
            RATIO=self._ratio, CHUNK=self._chunk, STEP=self._step, num_warps=warps,
            maxnreg=REGISTERS,
        )  # fmt: skip
        expand_groups[(-(-self._targets // 8),)](
            groups_kept=self._groups_kept, found=self._found[0], tile_max=self._tile_max,
            keys=self._keys, row_start=row_start, row_start_out=row_start_out, **scores,
            **pitches, **owners, STRICT=self._strict, RATIO=self._ratio, ROWS=8, num_warps=2,
        )  # fmt: skip
        cut_kept[(self._requests,)](
            keys=self._keys, found_before=self._found[0], kept=self._tiles_kept, kept_keys=None,
            found=self._found[1], **rows_out, WIDTH=self._ratio, CHUNK=self._chunk,
            STEP=self._step, num_warps=warps, maxnreg=REGISTERS,
        )  # fmt: skip
        expand_tiles[(-(-self._targets // 8),)](
            groups_kept=self._groups_kept, tiles_kept=self._tiles_kept, found=self._found[1],
            **self._tile, keys=self._keys, **matrix, **codes, **self._children, legal=legal,
            row_start=row_start, row_start_out=row_start_out, **scores, K=self._columns,
            **pitches, **owners, TRIE=constrained, STRICT=self._strict, RATIO=self._ratio,
            ROWS=8, num_warps=2,
        )  # fmt: skip
        cut_kept[(self._requests,)](
            keys=self._keys, found_before=self._found[1], kept=self._kept,
            kept_keys=self._kept_keys, found=self._found[2], **rows_out, WIDTH=TILE,
            CHUNK=self._chunk, STEP=self._step, num_warps=warps, maxnreg=REGISTERS,
        )  # fmt: skip
        emit[(-(-self._targets // 32),)](
            kept=self._kept, kept_keys=self._kept_keys, found=self._found[2], **self._tile,
            low_of=self._children["low_of"], **codes, row_start=row_start,
            row_start_out=row_start_out, **outputs, live_out=live_out, RO=self._targets, **owners,
            TRIE=constrained, RANKED=self._ranked, ROWS=32, COMPARED=64, num_warps=4,
        )  # fmt: skip


def power(size: int) -> int:
    """The least power of two that is not below `size`."""
    return 1 << max(size - 1, 0).bit_length()

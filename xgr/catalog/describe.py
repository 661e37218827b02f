"""What `xgr catalog inspect` says of a catalogue."""

from __future__ import annotations

from typing import Any

import numpy as np

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.order import BLOCK
from xgr.catalog.search import Int32s


def describe(catalogue: Catalogue) -> dict[str, Any]:
    """Sizes of a catalogue as plain JSON values.

    `children` of level l counts, over the prefixes that end above it (the root at level 0), how
    many codes may follow; `shared_sids` counts SIDs by their number of items.
    """
    levels = []
    parents = np.asarray([0, len(catalogue.levels[0])])
    for size, level in zip(catalogue.level_sizes, catalogue.levels, strict=True):
        children = np.diff(parents)
        levels.append(
            {
                "codes": size,
                "codes_used": _distinct(level.code),
                "nodes": len(level),
                "children": {
                    "min": int(children.min()),
                    "mean": round(float(children.mean()), 3),
                    "max": int(children.max()),
                },
            }
        )
        if level.first_child is not None:
            parents = level.first_child
    items, sids = np.unique(np.diff(catalogue.item_start), return_counts=True)
    return {
        "version": catalogue.version,
        "items": catalogue.num_items,
        "sids": catalogue.num_sids,
        "depth": catalogue.depth,
        "label_kind": catalogue.label_kind,
        "titles": catalogue.has_titles,
        "levels": levels,
        "shared_sids": {str(n): int(count) for n, count in zip(items, sids, strict=True)},
        "bytes": catalogue.nbytes,
        "bytes_per_item": round(catalogue.nbytes / catalogue.num_items, 2),
    }


def _distinct(codes: Int32s) -> int:
    # Not np.bincount: it takes memory by the largest code, which may be a single one.
    found: Int32s = np.empty(0, dtype=np.int32)
    for base in range(0, len(codes), BLOCK):
        found = np.union1d(found, np.unique(codes[base : base + BLOCK]))
    return len(found)

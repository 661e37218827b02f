"""Random catalogues, for measuring at a size that no file at hand has."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from xgr.catalog.build import INT32_MAX, MAX_DEPTH
from xgr.catalog.catalogue import Catalogue
from xgr.errors import CatalogueError

PREFIX: Final = "random:"
_FORM: Final = re.compile(r"random:(\d{1,10})([KM]?):(\d{1,2})x(\d{1,10})(?::(\d{1,18}))?")
_UNITS: Final = {"": 1, "K": 1_000, "M": 1_000_000}


def random_catalogue(source: str) -> Catalogue:
    """A catalogue of independent, uniform codes, built in memory as any other is.

    SIDs may come twice, as in any catalogue: of a million items over 3 x 8192 codes about one.
    Equal sources give equal catalogues.

    Args:
        source: "random:COUNT:LEVELSxCODES" or "random:COUNT:LEVELSxCODES:SEED", COUNT with K
            (thousand) or M (million) behind it or not; item ids are 0..COUNT-1, codes are bare.

    Raises:
        CatalogueError: another form, or a number out of range.
    """
    found = _FORM.fullmatch(source)
    if found is None:
        raise CatalogueError(
            f"{source!r} is no random catalogue: write random:COUNT:LEVELSxCODES[:SEED], as in "
            "random:1M:3x8192"
        )
    count, levels, codes = int(found[1]) * _UNITS[found[2]], int(found[3]), int(found[4])
    for name, value, most in (
        ("items", count, INT32_MAX),
        ("levels", levels, MAX_DEPTH),
        ("codes a level", codes, INT32_MAX),
    ):
        if not 1 <= value <= most:
            raise CatalogueError(f"{source!r} has {value} {name}, allowed: 1 to {most}")
    rng = np.random.default_rng(int(found[5] or 0))
    sids = rng.integers(0, codes, (count, levels), dtype=np.int32)
    return Catalogue.from_sids(sids, level_sizes=(codes,) * levels)

"""The item catalogue: readers, the trie of semantic IDs as sorted arrays, filters, versions."""

from __future__ import annotations

from xgr.catalog.catalogue import Catalogue
from xgr.catalog.filters import NamedMask, RequestFilter
from xgr.catalog.items import ItemId
from xgr.catalog.readers import FORMATS, read_catalogue
from xgr.catalog.trie import Level
from xgr.catalog.versions import CatalogueStore, Pin

__all__ = [
    "FORMATS",
    "Catalogue",
    "CatalogueStore",
    "ItemId",
    "Level",
    "NamedMask",
    "Pin",
    "RequestFilter",
    "read_catalogue",
]

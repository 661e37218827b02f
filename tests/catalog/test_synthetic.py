from __future__ import annotations

import pytest

from xgr.catalog.synthetic import random_catalogue
from xgr.errors import CatalogueError


def test_it_is_what_its_name_says() -> None:
    catalogue = random_catalogue("random:3K:3x64")
    assert catalogue.num_items == 3000
    assert catalogue.level_sizes == (64, 64, 64)
    assert catalogue.label_kind == "code"
    assert sorted(catalogue.item_id(at) for at in range(3000)) == list(range(3000))
    # uniform: every first code is used, and about as many SIDs are there as 64^3 leaves allow
    assert len(catalogue.levels[0]) == 64
    assert 2950 < catalogue.num_sids < 3000


def test_items_may_share_sids_where_there_are_few() -> None:
    catalogue = random_catalogue("random:500:2x4")
    assert catalogue.num_items == 500
    assert catalogue.num_sids == 16


def test_equal_sources_are_equal_and_seeds_differ() -> None:
    one, same, other = map(
        random_catalogue, ("random:1K:3x32", "random:1000:3x32:0", "random:1K:3x32:1")
    )
    assert one.version == same.version != other.version


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("random:1G:3x64", "no random catalogue: write random:COUNT:LEVELSxCODES"),
        ("random:1M", "no random catalogue"),
        ("random:0:3x64", r"has 0 items, allowed: 1 to 2147483647"),
        ("random:9999M:3x64", "has 9999000000 items"),
        ("random:1K:17x64", "has 17 levels, allowed: 1 to 16"),
        ("random:1K:3x0", "has 0 codes a level"),
    ],
)
def test_what_is_refused(source: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        random_catalogue(source)

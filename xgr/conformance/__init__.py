"""Conformance: one case table held against every kernel of every backend.

pytest and `xgr ops` run the same objects: `table` lists what there is to run, `run` runs it.
"""

from xgr.conformance.entries import Entry, run, run_entry, table
from xgr.conformance.runner import Outcome, Result, run_case

__all__ = ["Entry", "Outcome", "Result", "run", "run_case", "run_entry", "table"]

"""The baseline: each row attends to its own blocks."""

from xgr.backends.cuda.staged_attention.heuristic import LARGEST_HEAD

FACTS = {
    "triton": {
        "tunables": ("block_n", "warps", "stages", "splits"),
        "limits": {"d": (1, LARGEST_HEAD)},
    }
}

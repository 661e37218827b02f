"""Prompt and own tokens of a beam in one softmax: in one launch, or its stages side by side."""

from xgr.backends.cuda.staged_attention.groups import SPLIT
from xgr.backends.cuda.staged_attention.heuristic import HOPPER, LARGEST_HEAD, TUNABLES

FACTS = {
    "triton": {"tunables": TUNABLES, "limits": {"d": (1, LARGEST_HEAD)}},
    "hopper": HOPPER,
    "split": SPLIT,
}

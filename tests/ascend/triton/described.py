"""mask_filter where kernels reach the catalogue through its descriptor, as in an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.ascend.triton.host import on_host
from xgr.conformance.entries import cases_of
from xgr.conformance.laid import Laid, with_outputs
from xgr.conformance.runner import expected
from xgr.ops import spec
from xgr.ops.dtype import int64


def described_case() -> None:
    """Cases of both kinds of level, with lists and masks: equal to the definition."""
    declared = spec("mask_filter")
    chosen = [c for c in cases_of("mask_filter") if c.flags.get("filters") == "mixed"]
    assert {int(case.flags["level"]) for case in chosen} == {0, 2}
    for case in chosen:
        rt, host = on_host(), declared.build(case)
        values = with_outputs(declared, host, case.sizes, case.dtype)
        laid = Laid(rt, declared, values, case.dtype, strided=False)
        laid.reset()
        trie, filters = laid.arguments["trie"], laid.arguments["filters"]
        address: Any = rt.backend.address
        words = [
            entry
            for level, bits in zip(trie.levels, filters.words, strict=True)
            for entry in (
                address(level.code),
                level.code.shape[0],
                0 if level.first_child is None else address(level.first_child),
                address(bits),
                bits.stride(0),
            )
        ]
        described = replace(trie, descriptor=rt.upload(np.array(words), int64))
        problem = declared.problem(values, case.dtype)
        rt.bind("mask_filter", problem, "ascend.triton")(**laid.arguments | {"trie": described})
        want = expected(declared, case, host)
        assert not declared.compare(case, host, want, laid.outputs()), case.id
        assert not list(laid.damage()), case.id

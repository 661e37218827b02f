"""The shipped demo files as parsed once, and the shop that the seed gives."""

from __future__ import annotations

import importlib
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.data import ROOT

DEMO = ROOT / "xgr" / "demo"


def example(name: str) -> ModuleType:
    """Import a module of the examples folder, whose modules find one another by plain names."""
    folder = str(ROOT / "examples")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


@cache
def drawn_shop() -> Any:
    """The shop that the default seed gives, training users included."""
    return example("demo_shop").build_shop()


@cache
def items() -> list[dict[str, Any]]:
    return [json.loads(line) for line in text("items.jsonl").splitlines()]


@cache
def histories() -> dict[str, list[str]]:
    parsed: dict[str, list[str]] = json.loads(text("histories.json"))
    return parsed


@cache
def popularity() -> dict[str, int]:
    parsed: dict[str, int] = json.loads(text("popularity.json"))
    return parsed


@cache
def vocabulary() -> dict[str, int]:
    parsed: dict[str, int] = json.loads(text("model/tokenizer.json"))["model"]["vocab"]
    return parsed


def text(relative: str) -> str:
    return Path(DEMO / relative).read_text(encoding="utf-8")

"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from xgr.bench import synthetic
from xgr.engine import Recommender
from xgr.errors import BackendMissing, InputError
from xgr.registry import discover
from xgr.runtime import Runtime, planned, runtime

Model = Annotated[Path, typer.Option(help="Checkpoint folder, Hugging Face layout.")]
CatalogPath = Annotated[
    Path, typer.Option("--catalog", help="Catalogue: a file of items or a built folder.")
]
BeamWidth = Annotated[str, typer.Option(help="Beams kept: one number, or one a level: 64,128,256.")]
Items = Annotated[int, typer.Option("-k", help="Items a user.")]
Device = Annotated[str, typer.Option(help="Device: cpu, or one that another package adds.")]
Soc = Annotated[
    str | None, typer.Option(help="Plan for this chip, which need not be here: Ascend910B1.")
]
Template = Annotated[
    str | None,
    typer.Option(help="Prompt template: plain, minionerec, lcrec or openonerec."),
]
MaxItems = Annotated[int | None, typer.Option(help="History items that enter the prompt.")]
Normalize = Annotated[
    str, typer.Option(help="What log-probs are relative to: vocab, level, children, none.")
]
KvMode = Annotated[str | None, typer.Option(help="K/V of beams: ancestors or reorder.")]
Unconstrained = Annotated[
    bool, typer.Option("--unconstrained", help="Search the whole vocabulary, for measuring.")
]
ExcludeHistory = Annotated[
    bool, typer.Option("--exclude-history", help="Items of the history do not come out.")
]
Unknown = Annotated[
    Literal["error", "skip"],
    typer.Option(help="Items that the catalogue lacks: error, or skip to leave them out."),
]
Lanes = Annotated[int | None, typer.Option(help="Batches served side by side.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# of what measures an engine
MeasuredModel = Annotated[
    str,
    typer.Option(
        "--model", help=f"Checkpoint folder; with --random-weights {', '.join(synthetic.SHAPES)}."
    ),
]
MeasuredCatalog = Annotated[
    str,
    typer.Option(
        "--catalog", help="File or folder of a catalogue, or random:COUNT:LEVELSxCODES[:SEED]."
    ),
]
RandomWeights = Annotated[
    bool, typer.Option("--random-weights", help="A published shape instead of a checkpoint.")
]
Layers = Annotated[int | None, typer.Option(help="Layers of a random model.")]
Dtype = Annotated[
    str | None, typer.Option(help="float32, bfloat16 or float16; float32 on the CPU.")
]
EveryWidth = Annotated[int, typer.Option("--beam-width", help="Beams of every request.")]
PromptTokens = Annotated[int, typer.Option(help="Tokens of every prompt.")]
EveryK = Annotated[int | None, typer.Option("-k", help="Items a request; as many as beams.")]
MaxRequests = Annotated[int, typer.Option(help="Requests of one batch.")]


def width(text: str) -> int | list[int]:
    """The beam width of an option: "128" or "64,128,256"."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"--beam-width is {text!r}, need a number or one a level, as in 64,128,256"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


def seconds(text: str) -> float:
    """The seconds of a budget: "90", "90s" or "5m"."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([sm]?)", text)
    if found is None:
        raise InputError(f"--budget is {text!r}, need seconds or minutes, as in 90s or 5m")
    return float(found[1]) * (60 if found[2] == "m" else 1)


def check_positive(given: Mapping[str, float | None]) -> None:
    """Refuse values of options, by name, that are 0 or less; None is not given."""
    for name, value in given.items():
        if value is not None and value <= 0:
            raise InputError(f"{name} is {value}, need a positive number")


def load(
    model: Path,
    catalog: Path,
    device: str,
    *,
    template: str | None,
    max_items: int | None,
    normalize: str,
    kv_mode: str | None,
    unconstrained: bool = False,
    lanes: int | None,
) -> Recommender:
    """The recommender that the shared options describe."""
    return Recommender.from_pretrained(
        model,
        catalog,
        device,
        template=template,
        max_items=max_items,
        normalize=normalize,
        kv_mode=kv_mode,
        constrained=not unconstrained,
        lanes=lanes,
    )


def here_or_planned(device: str, soc: str | None) -> Runtime:
    """The device of this machine, or a plan for a chip that need not be here.

    Raises:
        BackendMissing: the device is not here; names a chip where its backend plans for some.
    """
    if soc is not None:
        return planned(device, soc)
    try:
        return runtime(device)
    except BackendMissing as error:
        example = discover.load(device).plans if device in discover.found() else ""
        if not example:
            raise
        raise BackendMissing(f"{error}; or plan for a chip: --soc {example}") from error

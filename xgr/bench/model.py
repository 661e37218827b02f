"""What is measured: a checkpoint, or a published shape with random weights, over a catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xgr.bench import synthetic
from xgr.catalog import Catalogue, read_catalogue
from xgr.catalog.synthetic import PREFIX, random_catalogue
from xgr.engine import Recommender
from xgr.engine.request import is_count
from xgr.errors import InputError
from xgr.models.decoder import Decoder
from xgr.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Loaded:
    """A decoder on a device, and what engines over it serve.

    Attributes:
        decoder: the weights.
        token_ids: per level of the catalogue, the token id of each code.
        catalogue: in the order of the model's codes.
    """

    decoder: Decoder
    token_ids: Sequence[Sequence[int]]
    catalogue: Catalogue


def load(
    rt: Runtime,
    model: str,
    catalog: str,
    *,
    random_weights: bool = False,
    layers: int | None = None,
    dtype: str | None = None,
) -> Loaded:
    """Load a model and a catalogue.

    Args:
        rt: the device.
        model: folder of a checkpoint; with `random_weights` a key of `synthetic.SHAPES`.
        catalog: file or folder of a catalogue, or `random:COUNT:LEVELSxCODES[:SEED]`.
        random_weights: a published shape in the place of a checkpoint.
        layers: decoder layers of a random model; as published when None.
        dtype: "float32", "bfloat16" or "float16"; float32 on the CPU, else the model's, when None.

    Raises:
        InputError: unknown shape or dtype, a shape without `random_weights`, or `layers` that are
            no whole number of at least 1 or are asked of a checkpoint.
        ModelError: a checkpoint that cannot be run.
        CatalogueError: a catalogue that is refused.
    """
    if model in synthetic.SHAPES and not random_weights and not Path(model).exists():
        raise InputError(f"--model {model} is a shape without weights: add --random-weights")
    if layers is not None and not random_weights:
        raise InputError(
            f"--layers is {layers}, but --model {model} is read from a folder and has its own: "
            "leave --layers away, or give a shape with --random-weights"
        )
    if layers is not None and not is_count(layers):
        raise InputError(
            f"layers is {layers!r}, need a whole number of at least 1, or None for the published"
        )
    if random_weights:
        known = _catalogue(catalog)
        sizes = known.level_sizes
        kind = dtype or ("float32" if rt.device == "cpu" else None)
        decoder = synthetic.decoder(rt, model, sizes, dtype=kind, layers=layers)
        return Loaded(decoder, synthetic.code_tokens(model, sizes), known)
    # its one lane is as small as can be, and goes with it
    recommender = Recommender.from_pretrained(
        model, _catalogue(catalog), rt.device, dtype=dtype, lanes=1,
        max_tokens=1, max_rows=1, max_requests=1,
    )  # fmt: skip
    engine = recommender.engine
    return Loaded(engine.decoder, engine.token_ids, recommender.store.current)


def _catalogue(source: str) -> Catalogue:
    return random_catalogue(source) if source.startswith(PREFIX) else read_catalogue(source)

"""Weights of a checkpoint: safetensors, one file or shards, each tensor read when it is taken.

Nothing is guessed: a missing, misshapen or unused tensor is an error that names it, and pickled
weights are refused because reading them runs code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import ml_dtypes  # noqa: F401  (registers bfloat16, which safetensors asks NumPy for by name)
from safetensors import SafetensorError, safe_open

from xgr.errors import ModelError
from xgr.models.folder import read_json

DTYPES: Final = {"F32": "float32", "BF16": "bfloat16", "F16": "float16", "F64": "float64"}
_PICKLES: Final = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_BUFFER: Final = re.compile(r"(^|\.)rotary_emb\.(inv_freq|cos_cached|sin_cached)$")
_SHOWN: Final = 8


class Tensors(Protocol):
    """Where a loader takes tensors from, by the names that a Hugging Face checkpoint gives them."""

    def require(self, names: Iterable[str]) -> None:
        """Check that all these tensors exist."""
        ...

    def take(self, name: str, shape: Sequence[int]) -> Any:
        """One tensor as a NumPy array of that shape, which the next call may write over."""
        ...

    def finish(self, *, tied_embeddings: bool = False) -> None:
        """Check that nothing was left behind."""
        ...


class Weights:
    """The tensors of a model folder, by name.

    A loader takes every tensor it needs and then calls `finish`, which fails when one was left.
    """

    def __init__(self, model_dir: Path, files: dict[str, Any], owner: dict[str, str]) -> None:
        self.model_dir = model_dir
        self._files = files
        self._owner = owner
        self._taken: set[str] = set()

    @classmethod
    def open(cls, model_dir: str | Path) -> Weights:
        """Open `model.safetensors`, or the shards that `model.safetensors.index.json` lists.

        Raises:
            ModelError: no safetensors weights, a broken file, or an index that its shards
                contradict.
        """
        folder = Path(model_dir)
        single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
        if single.exists():
            files = {single.name: _open(single)}
            return cls(folder, files, dict.fromkeys(files[single.name].keys(), single.name))
        if index.exists():
            return cls(folder, *_open_shards(index))
        raise _no_weights(folder)

    def __contains__(self, name: str) -> bool:
        return name in self._owner

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner)

    def __len__(self) -> int:
        return len(self._owner)

    def require(self, names: Iterable[str]) -> None:
        """Check that all these tensors exist.

        Raises:
            ModelError: names every one that does not.
        """
        missing = [name for name in names if name not in self._owner]
        if missing:
            raise ModelError(
                f"{self.model_dir} lacks {len(missing)} weights that its config asks for: "
                f"{_some(missing)}{_hint(missing)}"
            )

    def take(self, name: str, shape: Sequence[int]) -> Any:
        """Read one tensor.

        Args:
            name: its name in the checkpoint.
            shape: the shape that the config implies.

        Returns:
            A NumPy array in host memory of that shape, in the dtype of the file (float32,
            float64, float16 or ml_dtypes' bfloat16). Typed Any: models name no array library.

        Raises:
            ModelError: missing, of another shape, not of a float dtype, or unreadable.
        """
        self.require([name])
        file = self._owner[name]
        header = self._files[file].get_slice(name)
        if tuple(header.get_shape()) != tuple(shape):
            raise ModelError(
                f"{self.model_dir / file}: {name} has shape {list(header.get_shape())}, "
                f"the config needs {list(shape)}"
            )
        if header.get_dtype() not in DTYPES:
            raise ModelError(
                f"{self.model_dir / file}: {name} is stored as {header.get_dtype()}, need one of "
                f"{', '.join(DTYPES)}: save the checkpoint in a plain float dtype"
            )
        try:
            array = self._files[file].get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise _broken(self.model_dir / file, error) from error
        self._taken.add(name)
        return array

    def finish(self, *, tied_embeddings: bool = False) -> None:
        """Check that nothing was left behind.

        Args:
            tied_embeddings: the head is the embedding, so that a stored lm_head is a copy.

        Raises:
            ModelError: names the tensors that nobody took. Buffers of the rotary embedding, which
                older checkpoints store and which follow from the config, do not count.
        """
        copies = {"lm_head.weight"} if tied_embeddings else set()
        unused = [
            name
            for name in self._owner
            if name not in self._taken and name not in copies and not _BUFFER.search(name)
        ]
        if unused:
            raise ModelError(
                f"{self.model_dir} holds {len(unused)} weights that the decoder does not use: "
                f"{_some(unused)}; config.json does not describe this checkpoint"
            )


def _open(path: Path) -> Any:
    try:
        return safe_open(path, framework="np")
    except (SafetensorError, OSError) as error:
        raise _broken(path, error) from error


def _open_shards(index: Path) -> tuple[dict[str, Any], dict[str, str]]:
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ModelError(f"{index} has no 'weight_map' from tensor names to files")
    for name, file in weight_map.items():
        # A checkpoint is its folder: an index must not make us read elsewhere.
        if not isinstance(file, str) or Path(file).name != file:
            raise ModelError(f"{index}: {name} is in {file!r}, need a file name in the same folder")
    files = {file: _open(index.parent / file) for file in sorted(set(weight_map.values()))}
    owner: dict[str, str] = {}
    for file, handle in files.items():
        for name in handle.keys():  # noqa: SIM118  (a handle is not iterable)
            owner[name] = file
    wrong = [name for name, file in weight_map.items() if owner.get(name) != file]
    if wrong:
        raise ModelError(f"{index} names weights that are not in their shard: {_some(wrong)}")
    return files, owner


def _no_weights(folder: Path) -> ModelError:
    if not folder.is_dir():
        return ModelError(f"{folder} is not a folder; give a checkpoint folder with config.json")
    others = sorted(path.name for path in folder.glob("*.safetensors"))
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if "adapter_model.safetensors" in others:
        return ModelError(f"{folder} holds an adapter only; merge it into its base model first")
    if others:
        return ModelError(
            f"{folder} has {_some(others)} but neither model.safetensors nor "
            "model.safetensors.index.json; rename the file, or save the checkpoint again"
        )
    if pickles:
        return ModelError(
            f"{folder} has pickled weights ({_some(pickles)}), which run code when they are read. "
            "If you trust their source, convert them where torch and transformers are installed: "
            'python -c "from transformers import AutoModelForCausalLM as M; '
            f"M.from_pretrained(r'{folder}', dtype='auto').save_pretrained(r'{folder}-safe')\""
        )
    return ModelError(f"{folder} has no model.safetensors and no model.safetensors.index.json")


def _broken(path: Path, error: Exception) -> ModelError:
    if not path.exists():
        return ModelError(f"{path} is missing; fetch the checkpoint again")
    with path.open("rb") as file:
        pointer = file.read(40).startswith(b"version https://git-lfs")
    why = "is a Git LFS pointer, not the weights: run git lfs pull" if pointer else "is broken"
    return ModelError(f"{path} {why} ({path.stat().st_size} bytes; {error}); fetch it again")


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _hint(missing: Sequence[str]) -> str:
    if "lm_head.weight" in missing:
        return "; if the head is the embedding, set tie_word_embeddings in config.json"
    return ""

"""The tiny checkpoints say what they claim to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.oracle.beam import load
from tests.oracle.tiny import FAMILIES, ROPES, tiny_model

IDS = torch.tensor([[1, 9, 20, 4, 11, 13, 5, 17] * 4])


def logits(folder: Path) -> torch.Tensor:
    with torch.inference_mode():
        out: torch.Tensor = load(folder)(IDS).logits
    return out


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rope", sorted(ROPES))
def test_old_and_new_config_are_the_same_model(tmp_path: Path, family: str, rope: str) -> None:
    new = tiny_model(tmp_path / "new", family, rope=rope)
    old = tiny_model(tmp_path / "old", family, rope=rope, form="old")
    config = json.loads((old / "config.json").read_text())
    assert "rope_parameters" not in config
    assert "dtype" not in config
    assert config["rope_theta"] == 5000.0
    assert torch.equal(logits(new), logits(old))


def test_scaling_changes_the_logits(tmp_path: Path) -> None:
    by_rope = {rope: logits(tiny_model(tmp_path / rope, rope=rope)) for rope in ROPES}
    for rope in ("linear", "yarn", "llama3"):
        assert not torch.allclose(by_rope[rope], by_rope["default"], atol=1e-2)
    # Dynamic scaling begins past max_position_embeddings.
    assert torch.equal(by_rope["dynamic"], by_rope["default"])


def test_tied_sharded_and_bfloat16(tmp_path: Path) -> None:
    tied = tiny_model(tmp_path / "tied", tied=True)
    untied = tiny_model(tmp_path / "untied", tied=False)
    sharded = tiny_model(tmp_path / "sharded", shard_size="20KB")
    small = tiny_model(tmp_path / "small", dtype=torch.bfloat16)
    assert not torch.equal(logits(tied), logits(untied))
    assert len(list(sharded.glob("*.safetensors"))) > 1
    assert torch.equal(logits(tied), logits(sharded))
    assert json.loads((small / "config.json").read_text())["dtype"] == "bfloat16"
    assert logits(small).dtype == torch.float32


def test_no_part_is_idle(tmp_path: Path) -> None:
    """Zeroing any one tensor moves the logits: a reader that drops it is caught."""
    for family in FAMILIES:
        model = load(tiny_model(tmp_path / family, family, tied=False))
        with torch.inference_mode():
            before = model(IDS).logits
            for name, weight in model.named_parameters():
                kept = weight.clone()
                weight.zero_()
                assert not torch.allclose(model(IDS).logits, before, atol=1e-3), name
                weight.copy_(kept)


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="family must be one of"):
        tiny_model(tmp_path, "gpt2")
    with pytest.raises(ValueError, match="form must be"):
        tiny_model(tmp_path, form="newest")

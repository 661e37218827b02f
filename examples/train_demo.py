"""Make everything in `xgr/demo`: draw the shop, train its model on the CPU, and score it.

    python examples/train_demo.py --out xgr/demo

needs the `dev` extra (torch, transformers). See README.md beside this file.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import torch
from demo_score import popularity_recall, rank, score
from demo_shop import BOS, EOS, MAX_TOKENS, PAD, SEED, Shop, build_shop, write_shop
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.utils.logging import disable_progress_bar

STEPS = 700
BATCH_TOKENS = 6_144  # padding included
PEAK_RATE, WEIGHT_DECAY, WARM_UP = 4e-3, 0.05, 0.05
EARLY = 0.03  # the early checkpoint: this share of the steps
IGNORED = -100  # the label that the loss leaves out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write, e.g. xgr/demo")
    parser.add_argument("--early-out", type=Path, help="also save an early checkpoint there")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(SEED)
    disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it untyped

    shop = build_shop()
    write_shop(shop, options.out)
    model = Qwen3ForCausalLM(_config(len(shop.tokens)))
    size = f"{len(shop.tokens)} tokens, {model.num_parameters()} parameters"
    print(f"{len(shop.items)} items, {size}", flush=True)
    for step in train(model, shop, options.steps):
        if options.early_out and step == max(1, round(EARLY * options.steps)):
            write_shop(shop, options.early_out)
            _save(model, options.early_out / "model")
    _save(model, options.out / "model")

    # What is scored is what is shipped: the weights after rounding to bfloat16.
    shipped = Qwen3ForCausalLM.from_pretrained(options.out / "model", dtype=torch.float32)
    rankings = rank(shipped, shop)
    for label, exclude_seen in (("all items", False), ("seen items excluded", True)):
        recall, ndcg = score(rankings, shop, exclude_seen=exclude_seen)
        popular = popularity_recall(shop, exclude_seen=exclude_seen)
        print(f"{label}: Recall@10 {recall:.4f}, NDCG@10 {ndcg:.4f}, popularity {popular:.4f}")


def train(model: Qwen3ForCausalLM, shop: Shop, steps: int) -> Iterator[int]:
    """Train next-token prediction on the training users' whole histories; yields each step done."""
    sequences = [_tokens(shop, history) for history in shop.training]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    batches = _batches(sequences, random.Random(SEED))
    start, running = time.monotonic(), 0.0
    model.train()
    for step in range(1, steps + 1):
        ids, labels = next(batches)
        loss = model(input_ids=ids, attention_mask=(ids != PAD).long(), labels=labels).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        running = loss.item() if step == 1 else 0.95 * running + 0.05 * loss.item()
        if step % 100 == 0 or step == steps:
            print(f"step {step}: loss {running:.4f}, {time.monotonic() - start:.0f} s", flush=True)
        yield step
    model.train(False)


def _config(tokens: int) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=math.ceil(tokens / 32) * 32,  # the last rows belong to no token
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=MAX_TOKENS,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        initializer_range=0.04,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
    )


def _tokens(shop: Shop, history: tuple[str, ...]) -> list[int]:
    return [BOS] + [shop.token_ids[token] for item in history for token in shop.sids[item]]


def _batches(sequences: list[list[int]], rng: random.Random) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of like length, for ever; each pass over the users is shuffled anew."""
    while True:
        order = sorted(sequences, key=lambda tokens: (len(tokens) // 12, rng.random()))
        batches: list[list[list[int]]] = [[]]
        for tokens in order:
            longest = max((len(other) for other in batches[-1]), default=0)
            if max(longest, len(tokens)) * (len(batches[-1]) + 1) > BATCH_TOKENS:
                batches.append([])
            batches[-1].append(tokens)
        for batch in sorted(batches, key=lambda _: rng.random()):
            width = max(len(tokens) for tokens in batch)
            ids = torch.tensor([tokens + [PAD] * (width - len(tokens)) for tokens in batch])
            yield ids, ids.masked_fill(ids == PAD, IGNORED)


def _rate(step: int, steps: int) -> float:
    warm_up = max(1, round(WARM_UP * steps))
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up)))


def _save(model: Qwen3ForCausalLM, folder: Path) -> None:
    """Save a copy in bfloat16; training goes on in float32."""
    deepcopy(model).bfloat16().save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)  # the writer makes it the owner's alone


if __name__ == "__main__":
    main()

"""Train a model that sees one token and guesses the next: `python train_tiny.py OUTPUT`."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from tokenmill import PackedDataset


def train(output: str, steps: int = 60) -> list[float]:
    """Return the loss at each step; a model that learns nothing stays at the first one."""
    dataset = PackedDataset(output, shifted_labels=True)
    batches = dataset.iterate(batch_size=4, seed=0)
    vocab_size = 1 + max(int(batch["input_ids"].max()) for batch in islice(batches, 1000))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(vocab_size, 32), torch.nn.Linear(32, vocab_size))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses: list[float] = []
    while len(losses) < steps:
        for batch in islice(batches, steps - len(losses)):  # an epoch, each in another order
            logits = model(batch["input_ids"])
            loss = cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


if __name__ == "__main__":
    if Path(sys.argv[-1], "manifest.json").is_file():
        losses = train(sys.argv[-1])
        print(f"loss: {losses[0]:.2f} at the first step, {losses[-1]:.2f} at the last")
    else:
        print("usage: python train_tiny.py OUTPUT, a folder that `tokenmill pack` has finished")

#!/usr/bin/env python3
"""Measures what share of a training step is tokenizing, with raw JSONL in and rows on the GPU.

    python benchmarks/train/run.py --tokenizer llama3/tokenizer.json --input data.jsonl

Trains the same small GPT twice: on one batch that stays on the device (no tokenizing), and on the
batches of GpuRowDataset (read, tokenized and packed on the fly). The runs take turns, and both wait
for the device at the end of each step. The difference of the median steps is the price of fresh
text. Needs PyTorch with CUDA, CuPy and a GPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tokenmill import Tokenizer
from tokenmill.cuda import GpuRowDataset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WARM_UP = 10
HEAD_WIDTH = 64


class Block(nn.Module):  # type: ignore[misc]
    """Attention and a feed-forward net, each added to its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD_WIDTH
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.mixed = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the hidden states after this block."""
        rows, length, width = hidden.shape
        mixed: Tensor = self.mixed(self.norms[0](hidden))
        query, key, value = mixed.view(rows, length, 3, self.heads, HEAD_WIDTH).unbind(2)
        seen = functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), is_causal=True
        )
        hidden = hidden + self.out(seen.transpose(1, 2).reshape(rows, length, width))
        return hidden + self.feed(self.norms[1](hidden))


class SmallGpt(nn.Module):  # type: ignore[misc]
    """A decoder of the size of GPT-2 small, unless the options say otherwise."""

    def __init__(self, vocab: int, length: int, width: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the logits of the next tokens."""
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = self.tokens(ids) + self.places(places)
        return self.head(self.norm(self.blocks(hidden)))


def steps(model: nn.Module, batches: Iterable[dict[str, Tensor]], count: int) -> list[float]:
    """Train on `count` batches; return the seconds of each step, fetching the batch included."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    seconds: list[float] = []
    torch.cuda.synchronize()
    began = time.perf_counter()
    for batch in islice(batches, WARM_UP + count):
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(batch["input_ids"])
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), batch["labels"].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        now = time.perf_counter()
        seconds.append(now - began)
        began = now
    return seconds[WARM_UP:]


def epochs(rows: Any) -> Iterator[dict[str, Tensor]]:
    """Yield the batches of a dataset, epoch after epoch."""
    return chain.from_iterable(repeat(rows))


def rows_alone(rows: Any) -> dict[str, float]:
    """Return the rate of an epoch of batches that nobody trains on."""
    began = time.perf_counter()
    count = sum(1 for _ in rows)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    return {"batches": count, "tokens/s": round(rows.tokens / seconds), "seconds": seconds}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on the same and on fresh batches in turn; return the figures."""
    rows = GpuRowDataset(
        str(arguments.input),
        arguments.tokenizer,
        context_length=arguments.context_length,
        batch_size=arguments.batch_size,
        shifted_labels=True,
        drop_last=True,
    )
    torch.manual_seed(0)
    vocab = Tokenizer.load(arguments.tokenizer).vocab_size
    size = arguments.context_length, arguments.width, arguments.layers
    model = SmallGpt(vocab, *size).cuda()
    model = torch.compile(model) if arguments.compile else model
    same = {name: column.clone() for name, column in next(iter(rows)).items()}
    found: dict[str, list[float]] = {"same batch": [], "fresh text": []}
    for _ in range(arguments.rounds):
        found["same batch"] += steps(model, repeat(same), arguments.steps)
        found["fresh text"] += steps(model, epochs(rows), arguments.steps)
    base, fresh = (statistics.median(times) * 1e3 for times in found.values())
    tokens = arguments.batch_size * arguments.context_length
    mean = {name: statistics.fmean(times) * 1e3 for name, times in found.items()}
    return {
        "device": torch.cuda.get_device_name(),
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens a step": tokens,
        "median step, same batch, ms": round(base, 3),
        "median step, fresh text, ms": round(fresh, 3),
        "mean step, ms": {name: round(value, 3) for name, value in mean.items()},
        "share of fresh text, medians, %": round(100 * (fresh - base) / fresh, 2),
        "share of fresh text, means, %": round(
            100 * (mean["fresh text"] - mean["same batch"]) / mean["fresh text"], 2
        ),
        "training tokens/s": round(tokens / fresh * 1e3),
        "rows alone": rows_alone(rows),
        "fallbacks": dict(rows.fallbacks),
        "skipped": dict(rows.skipped),
    }


def parse_arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--input", type=Path, required=True, help="a JSONL file")
    parser.add_argument("--context-length", type=int, default=1024, help="of a row (1024)")
    parser.add_argument("--batch-size", type=int, default=32, help="rows of a step (32)")
    parser.add_argument("--width", type=int, default=768, help="of the model (768)")
    parser.add_argument("--layers", type=int, default=12, help="of the model (12)")
    parser.add_argument("--steps", type=int, default=50, help="of a run, warm-up not counted (50)")
    parser.add_argument("--rounds", type=int, default=3, help="of both runs (3)")
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    return parser.parse_args()


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("train: expected a GPU that PyTorch can use, found none")
    print(json.dumps(measure(parse_arguments()), indent=1))

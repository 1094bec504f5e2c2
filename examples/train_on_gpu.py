"""Train a model on a GPU from raw text: it is tokenized and packed there, batch by batch."""

from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import tokenmill
import tokenmill.cuda

SAMPLE = Path(__file__).parent / "data" / "corpus" / "dictionary.jsonl"


def open_rows(**options: Any) -> Any:
    """Return batches of 8 rows of 64 tokens on the GPU, with the next tokens as labels."""
    return tokenmill.cuda.GpuRowDataset(
        SAMPLE, context_length=64, batch_size=8, shifted_labels=True, shuffle=True, **options
    )


def train(rows: Any, steps: int = 60) -> list[float]:
    """Return the loss at each step; a model that learns nothing stays at the first one."""
    import torch  # main() reports if it is missing

    torch.manual_seed(0)
    device = next(iter(rows))["input_ids"].device
    vocab = tokenmill.Tokenizer.load().vocab_size
    layers = torch.nn.Embedding(vocab, 32), torch.nn.Linear(32, vocab)
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses: list[float] = []
    while len(losses) < steps:
        for batch in islice(rows, steps - len(losses)):  # an epoch: the files once
            logits = model(batch["input_ids"])
            loss = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), batch["labels"].flatten()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 2))
    return losses


if __name__ == "__main__":
    if find_spec("torch") is None:
        print("not trained: pip install torch")
    else:
        try:
            print("loss, every tenth step:", train(open_rows())[::10])
        except tokenmill.DeviceError as error:
            print(f"not trained, no usable GPU: {error}")

"""Pack some of the sample, then train a model that sees one token and guesses the next."""

from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import tokenmill

SAMPLE = Path(__file__).parent / "data" / "corpus" / "dictionary.jsonl"


def train(output: str | Path, steps: int = 60) -> list[float]:
    """Return the loss at each step; a model that learns nothing stays at the first one."""
    import torch  # packing does not need it

    dataset = tokenmill.PackedDataset(output, shifted_labels=True)
    known = torch.cat([row["input_ids"] for row in dataset]).unique()  # the ids that occur
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(len(known), 32), torch.nn.Linear(32, len(known)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    batches, losses = dataset.iterate(batch_size=4, seed=0), list[float]()
    while len(losses) < steps:
        for batch in islice(batches, steps - len(losses)):  # one epoch, in a new order
            inside = batch["labels"] >= 0  # no label crosses the end of a document
            logits = model(torch.searchsorted(known, batch["input_ids"][inside]))
            wanted = torch.searchsorted(known, batch["labels"][inside])
            loss = torch.nn.functional.cross_entropy(logits, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 2))
    return losses


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        tokenmill.pack(SAMPLE, output=folder, context_length=64, limit_documents=80)
        found = train(folder)[::10] if find_spec("torch") else "not trained: pip install torch"
        print("loss, every tenth step:", found)

"""Streams documents through a CausalLMTokenizer and drops the rows; one JSON line at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarks.compare.pack._corpus import LONGEST, documents, read_text
from datasets import IterableDataset

from tokenmill import CausalLMTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_AT_A_TIME = 256


def main() -> None:
    """Do the job on stdin."""
    job = json.load(sys.stdin)
    seen = {"documents": 0, "rows": 0, "tokens": 0}
    texts = IterableDataset.from_generator(lambda: make_documents(job, seen))
    tokenizer = CausalLMTokenizer(
        context_length=job["context_length"],
        overlap=job["overlap"],
        tokenizer_name=job["tokenizer"],
        show_progress=False,
    )
    rows = tokenizer.tokenize(texts, text_column="text").with_format("arrow")
    for batch in rows.iter(batch_size=ROWS_AT_A_TIME):
        seen["rows"] += len(batch)
        seen["tokens"] += sum(len(row) for row in batch["input_ids"])
    sys.stdout.write(json.dumps(seen) + "\n")


def make_documents(job: dict[str, Any], seen: dict[str, int]) -> Iterator[dict[str, str]]:
    """Yield documents until their text has the requested size."""
    left: int = job["bytes"]
    for document in documents(read_text(job["text"]), LONGEST):
        if left <= 0:
            return
        left -= len(document.text.encode())
        seen["documents"] += 1
        yield {"text": document.text}


if __name__ == "__main__":
    main()

"""The right answer: json and tokenizers, one document at a time, into one flat file of ids."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 512


def main() -> None:
    """Do the job on stdin: the ids of one JSONL file without bad lines."""
    job = json.load(sys.stdin)
    tokenizer = Tokenizer.from_file(job["tokenizer"])
    tokenizer.encode_special_tokens = True  # their text inside a document is text
    texts = read_texts(Path(job["inputs"][0]))
    with Path(job["output"]).open("wb") as file:
        while batch := list(islice(texts, BATCH)):
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                np.array([*encoding.ids, job["eos_id"]], job["dtype"]).tofile(file)


def read_texts(path: Path) -> Iterator[str]:
    """Yield the text of every line."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["text"]


if __name__ == "__main__":
    main()

"""Hugging Face datasets: `load_dataset`, `map` with a fast tokenizer, then one flat file.

`map` with a grouping function would cut the tail of every batch; the flat file keeps all tokens,
as the other libraries do.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, load_dataset
from tokenizers import Tokenizer


def main() -> None:
    """Do the job on stdin."""
    job = json.load(sys.stdin)
    output = Path(job["output"])
    kind = "parquet" if job["format"] == "parquet" else "json"
    texts = load_dataset(
        kind, data_files=job["inputs"], split="train", cache_dir=str(output / "cache")
    )
    encoded = texts.map(
        partial(encode, tokenizer=Tokenizer.from_file(job["tokenizer"]), eos_id=job["eos_id"]),
        batched=True,
        num_proc=job["threads"],
        remove_columns=texts.column_names,
    )
    write(encoded, output / "tokens.bin", job["dtype"])


def encode(batch: dict[str, Any], tokenizer: Tokenizer, eos_id: int) -> dict[str, Any]:
    """Return the ids of a batch of texts, each with the end token."""
    found = tokenizer.encode_batch_fast(batch["text"], add_special_tokens=False)
    return {"ids": [[*encoding.ids, eos_id] for encoding in found]}


def write(encoded: Dataset, path: Path, dtype: str) -> None:
    """Write all ids in a row."""
    with path.open("wb") as file:
        for batch in encoded.with_format("arrow").iter(batch_size=1000):
            ids = batch["ids"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            ids.astype(np.dtype(dtype)).tofile(file)
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    main()

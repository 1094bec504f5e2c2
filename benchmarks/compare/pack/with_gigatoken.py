"""gigatoken: whole files into one array in memory, then numpy adds the ends and writes it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import gigatoken
import numpy as np

SOURCES = {
    "jsonl": gigatoken.JsonlFileSource,
    "zst": gigatoken.JsonlFileSource,  # by the file's suffix
    "parquet": gigatoken.ParquetFileSource,
}


def main() -> None:
    """Do the job on stdin."""
    job = json.load(sys.stdin)
    tokenizer = gigatoken.Tokenizer(Path(job["tokenizer"]))
    source = SOURCES[job["format"]](job["inputs"], "text")
    documents = tokenizer.encode_files(source, parallel=job["threads"] > 1)
    path = Path(job["output"]) / "tokens.bin"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        with_ends(documents, job).tofile(file)
        os.fsync(file.fileno())


def with_ends(documents: Any, job: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return all ids in a row, each document ended by the end token."""
    ends = np.cumsum(np.asarray(ak.num(documents)))
    ids = np.asarray(ak.flatten(documents)).astype(job["dtype"])
    return np.insert(ids, ends, job["eos_id"])


if __name__ == "__main__":
    main()

"""Reads samples with one library and compares every id: run by check_readers, apart from tokenmill.

    python _reader_checks.py READER SAMPLE...

Prints a line `RESULT {json}` for each sample.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


class DifferenceError(Exception):
    """A reader returned something other than what was written."""


class Sample:
    """A folder of shards, and their expected content."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.data = folder / "data"
        self.expected = np.load(folder / "expected.npz")
        self.dtype = str(self.expected["dtype"])
        self.context = int(self.expected["context"])
        self.shards = int(self.expected["shards"])
        self.compared = 0

    def ids(self, shard: int) -> Any:
        """Return the ids of a shard, including padding."""
        return self.expected[f"ids{shard}"]

    def rows(self, shard: int) -> list[Any]:
        """Return the rows of a shard, including padding."""
        return np.split(self.ids(shard), np.cumsum(self.expected[f"rows{shard}"])[:-1])

    def all_rows(self) -> list[Any]:
        """Return the rows of all shards."""
        return [row for shard in range(self.shards) for row in self.rows(shard)]

    def pieces(self, shard: int) -> list[Any]:
        """Return the lengths of each row's pieces."""
        borders = self.expected[f"row_pieces{shard}"][1:-1]
        return np.split(self.expected[f"pieces{shard}"], borders)

    def same(self, found: Any, expected: Any, what: str) -> None:
        """Compare, and count."""
        found = np.asarray(found)
        if found.shape != np.shape(expected) or not np.array_equal(
            found.astype(np.int64), expected
        ):
            raise DifferenceError(f"{what} differs")
        self.compared += int(found.size)


def check_numpy(sample: Sample) -> None:
    """Map flat files, load matrices."""
    form = sample.name.partition("-")[0]
    for number in range(sample.shards):
        if form == "llmc":
            path = sample.data / f"tokens_train_{number:06d}.bin"
            sample.same(np.fromfile(path, sample.dtype, offset=1024), sample.ids(number), "ids")
        elif form == "npy":
            path = sample.data / f"shard-{number:05d}.npy"
            sample.same(np.load(path, mmap_mode="r"), np.stack(sample.rows(number)), "rows")
            lengths = np.load(path.with_suffix(".lens.npy"))
            sample.same(lengths, sample.expected[f"lengths{number}"], "lengths")
        else:
            path = sample.data / f"shard-{number:05d}.{'npy' if form == 'olmo' else 'bin'}"
            ids = np.memmap(path, sample.dtype, "r")
            sample.same(ids, sample.ids(number), "ids")
            if form == "olmo":
                check_documents(sample, number, path)


def check_documents(sample: Sample, number: int, path: Path) -> None:
    """Compare the starts and ends of documents, read by columns as OLMo-core does."""
    begins, row_begin = [], 0
    for row, pieces in zip(sample.rows(number), sample.pieces(number), strict=True):
        ends = row_begin + np.cumsum(pieces)
        begins += list(zip((ends - pieces).tolist(), ends.tolist(), strict=True))
        row_begin += len(row)
    with gzip.open(path.with_suffix(".csv.gz"), "rt", newline="") as file:
        found = [(int(begin), int(end)) for begin, end, *_ in csv.reader(file)]
    sample.same(found, begins, "documents")


def check_torch(sample: Sample) -> None:
    """Load containers of tensors, and the headers of llm.c files."""
    import torch

    for number in range(sample.shards):
        if sample.name.startswith("llmc"):
            path = sample.data / f"tokens_train_{number:06d}.bin"
            head = torch.from_file(str(path), shared=False, size=256, dtype=torch.int32)
            flavour = (20240520, 1) if sample.dtype == "uint16" else (20240801, 7)
            sample.same(head[:3], (*flavour, len(sample.ids(number))), "head")
            continue
        path = sample.data / f"shard-{number:05d}.pt"
        for mmap in (False, True):
            tensors = torch.load(path, weights_only=True, mmap=mmap)
            sample.same(tensors["input_ids"], np.stack(sample.rows(number)), "input_ids")
            sample.same(tensors["seq_lengths"], sample.expected[f"pieces{number}"], "seq_lengths")
            sample.same(tensors["row_pieces"], sample.expected[f"row_pieces{number}"], "row_pieces")
            torch.nn.Embedding.from_pretrained(torch.zeros(2, 1))(tensors["input_ids"][:1] % 2)


def check_megatron(sample: Sample) -> None:
    """Read every document, and compare the files with those of Megatron's own writer."""
    import torch
    from megatron.core.datasets import indexed_dataset as megatron

    for number in range(sample.shards):
        prefix = str(sample.data / f"shard-{number:05d}")
        dataset = megatron.IndexedDataset(prefix, mmap=True)
        rows = sample.rows(number)
        sample.same(dataset.document_indices, np.arange(len(rows) + 1), "documents")
        for index, row in enumerate(rows):
            sample.same(dataset[index], row, f"document {index}")
        dtype = np.uint16 if sample.dtype == "uint16" else np.int32
        own = prefix + ".own"
        builder = megatron.IndexedDatasetBuilder(own + ".bin", dtype=dtype)
        for row in rows:
            builder.add_document(torch.from_numpy(row), [len(row)])
        builder.finalize(own + ".idx")
        for suffix in (".bin", ".idx"):
            if Path(own + suffix).read_bytes() != Path(prefix + suffix).read_bytes():
                raise DifferenceError(f"{suffix} differs from Megatron's own")


def check_litdata(sample: Sample) -> None:
    """Stream every block."""
    from litdata import StreamingDataset, TokensLoader

    loader = TokensLoader(block_size=sample.context)
    dataset = StreamingDataset(str(sample.data), item_loader=loader, shuffle=False)
    rows = sample.all_rows()
    sample.same(len(dataset), len(rows), "the number of blocks")
    for index, block in enumerate(dataset):
        sample.same(block, rows[index], f"block {index}")


def check_streaming(sample: Sample) -> None:
    """Read every sample, and the files' hashes."""
    from streaming import StreamingDataset
    from streaming.base.hashing import get_hash
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    dataset = StreamingDataset(
        local=str(sample.data), shuffle=False, batch_size=1, validate_hash="xxh64"
    )
    rows = sample.all_rows()
    sample.same(len(dataset), len(rows), "the number of samples")
    for index, row in enumerate(rows):
        sample.same(dataset[index]["tokens"], row, f"sample {index}")
    for shard in json.loads((sample.data / "index.json").read_bytes())["shards"]:
        data = (sample.data / shard["raw_data"]["basename"]).read_bytes()
        if get_hash("xxh64", data) != shard["raw_data"]["hashes"]["xxh64"]:
            raise DifferenceError("a hash differs")


def check_datatrove(sample: Sample) -> None:
    """Read every window, with the positions that follow from the ends of documents."""
    from datatrove.utils.dataset import DatatroveFolderDataset

    size = sample.context + 1
    dataset = DatatroveFolderDataset(
        str(sample.data),
        seq_len=sample.context,
        filename_pattern="*.ds",
        token_size=np.dtype(sample.dtype).itemsize,
        return_positions=True,
    )
    window = 0
    for shard in range(sample.shards):
        ids = sample.ids(shard)
        lengths = sample.expected[f"rows{shard}"]
        begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
        for begin in range(0, len(ids) - size + 1, size):
            places = np.arange(begin, begin + size)
            found = dataset[window]
            sample.same(found["input_ids"], ids[places], f"window {window}")
            positions = places - np.maximum(begins[places], begin)
            sample.same(found["positions"], positions, f"positions of window {window}")
            window += 1
    sample.same(len(dataset), window, "the number of windows")


def check_datasets(sample: Sample) -> None:
    """Load tables, and compare both columns."""
    from datasets import load_dataset

    form = sample.name.partition("-")[0]
    files = [str(path) for path in sorted(sample.data.glob(f"*.{form}"))]
    dataset = load_dataset(form, data_files=files, split="train")
    rows = sample.all_rows()
    pieces = [row for shard in range(sample.shards) for row in sample.pieces(shard)]
    sample.same(len(dataset), len(rows), "the number of rows")
    for index, row in enumerate(dataset):
        sample.same(row["input_ids"], rows[index], f"input_ids of row {index}")
        sample.same(row["seq_lengths"], pieces[index], f"seq_lengths of row {index}")


CHECKS: dict[str, Callable[[Sample], None]] = {
    "numpy": check_numpy,
    "torch": check_torch,
    "megatron-core": check_megatron,
    "litdata": check_litdata,
    "mosaicml-streaming": check_streaming,
    "datatrove": check_datatrove,
    "datasets": check_datasets,
}


def main() -> None:
    """Check each sample."""
    reader, *folders = sys.argv[1:]
    for folder in folders:
        sample = Sample(Path(folder))
        problem = ""
        try:
            CHECKS[reader](sample)
        except DifferenceError as difference:
            problem = str(difference)
        result = {
            "version": metadata.version(reader),
            "sample": sample.name,
            "shards": sample.shards,
            "compared": sample.compared,
            "problem": problem,
        }
        print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

"""Compares every token, mask and label of saved rows with the stream of the reference.

The reference is one flat file: the ids of all documents, each with the end token. A job must
contain all of it, except what is left over after the last full row of each of its batches.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

    Ids = np.ndarray[Any, np.dtype[Any]]

MAP_BATCH = 1000  # documents, the default of datasets.map
COLUMNS = ("input_ids", "attention_mask", "labels")
IGNORED = -100


def main() -> None:
    """Answer the request on stdin with one line of JSON."""
    request = json.load(sys.stdin)
    stream = np.memmap(request["right"], dtype=request["dtype"], mode="r")
    pieces = PIECES[request["leaves_out"]](stream, request)
    checker = Checker(stream, pieces, request["context_length"])
    types: dict[str, str] = {}
    for batch in read_batches(Path(request["rows"])):
        types = {name: str(batch.schema.field(name).type) for name in batch.schema.names}
        checker.take(batch)
    found = {
        "answer": checker.verdict(),
        "rows": checker.rows,
        "tokens": checker.tokens,
        "left_out": len(stream) - checker.tokens,
        "types": types,
    }
    sys.stdout.write(json.dumps(found))


def whole(stream: Ids, _request: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the one piece that is cut into rows; its last row may be short."""
    return [(0, len(stream))]


def batches(stream: Ids, request: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the tokens that each call of the grouping function turns into full rows."""
    ends = [0, *(np.flatnonzero(stream == request["eos_id"]) + 1).tolist()]
    count, shares = len(ends) - 1, request["processes"]
    bounds = [count // shares * n + min(n, count % shares) for n in range(shares + 1)]
    pieces = []
    for begin, end in pairwise(bounds):
        for first in range(begin, end, MAP_BATCH):
            start, stop = ends[first], ends[min(first + MAP_BATCH, end)]
            size = request["context_length"]
            pieces.append((start, start + (stop - start) // size * size))
    return pieces


PIECES = {"nothing": whole, "batches": batches}


class Checker:
    """Takes rows in their order and remembers the first that is wrong."""

    def __init__(self, stream: Ids, pieces: list[tuple[int, int]], size: int) -> None:
        self._stream = stream
        self._size = size
        # Where each correct row starts and ends in the stream.
        self._spans = [
            (at, min(at + size, end)) for begin, end in pieces for at in range(begin, end, size)
        ]
        self._wrong = ""
        self.rows = 0
        self.tokens = 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Compare the rows of one batch."""
        missing = [name for name in COLUMNS if name not in batch.schema.names]
        if missing:
            self._wrong = self._wrong or f"no column {', '.join(missing)}"
            return
        columns = [batch.column(name).to_pylist() for name in COLUMNS]
        for ids, mask, labels in zip(*columns, strict=True):
            self._check(np.asarray(ids), np.asarray(mask), np.asarray(labels))
            self.rows += 1
            self.tokens += int(np.sum(mask))

    def _check(self, ids: Ids, mask: Ids, labels: Ids) -> None:
        if self._wrong:
            return
        if self.rows >= len(self._spans):
            self._wrong = f"more than {len(self._spans)} rows"
            return
        begin, end = self._spans[self.rows]
        right = self._stream[begin:end]
        filled = end - begin
        parts = {
            "length": len(ids) == len(mask) == len(labels) == self._size,
            "mask": mask[:filled].all() and not mask[filled:].any(),
            "ids": np.array_equal(ids[:filled], right),
            "labels": np.array_equal(labels[:filled], right)
            and bool((labels[filled:] == IGNORED).all()),
        }
        wrong = [name for name, is_right in parts.items() if not is_right]
        if wrong:
            self._wrong = f"row {self.rows}: {', '.join(wrong)}"

    def verdict(self) -> str:
        """Return `equal`, or where the first difference is."""
        if not self._wrong and self.rows != len(self._spans):
            self._wrong = f"{self.rows} rows instead of {len(self._spans)}"
        return f"DIFFERS: {self._wrong}" if self._wrong else "equal"


def read_batches(folder: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows of Arrow and Parquet files in the order of their names."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".arrow", ".parquet"})
    for path in files:
        if path.suffix == ".parquet":
            yield from parquet.ParquetFile(path).iter_batches(1000)
            continue
        with pa.memory_map(str(path)) as source:
            try:
                yield from pa.ipc.open_stream(source)
            except pa.ArrowInvalid:  # the file format, which has a footer
                reader = pa.ipc.open_file(source)
                yield from (reader.get_batch(n) for n in range(reader.num_record_batches))


if __name__ == "__main__":
    main()

"""Files of every format that `pack` reads, and ways to put them into a bucket."""

from __future__ import annotations

import csv
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tests.mill.corpus import dirty_corpus, text_of

from tokenmill import _store as store
from tokenmill._read import expected, store_file, table_files
from tokenmill._store import ahead

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._store import Address


def every_format(folder: Path) -> list[Path]:
    """Write JSONL, plain and compressed, with bad lines; Parquet, Arrow, CSV, TSV and text."""
    files = list(dirty_corpus(folder, documents=60).files)
    rng = random.Random(3)  # noqa: S311
    texts = [text_of(rng) for _ in range(40)]
    table = pa.table({"text": texts})
    with (
        pa.OSFile(str(folder / "m.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=10)
    with (folder / "n.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows(enumerate(texts))
    (folder / "o.txt").write_text("\n".join(texts), encoding="utf-8")
    return [*files, *(folder / name for name in ("m.arrow", "n.csv", "o.txt"))]


def fill(bucket: Address, folder: str, files: list[Path]) -> list[str]:
    """Put files under a folder of a bucket; return their addresses."""
    return [str(store.put_file(bucket / folder / file.name, file).address) for file in files]


def shrink_ranges(put: Any, size: int = 3_000) -> None:
    """Read in small ranges, so that a small file has many; `put` is monkeypatch.setattr."""
    for module in (ahead, store_file, table_files, expected):
        put(module, "RANGE_BYTES", size)
    put(store_file, "_FIRST_STRAY", 200)
    put(expected, "_BYTES", 4 * size)

"""No tokenizer: only reading and decompressing the same file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

BUFFER_BYTES = 1 << 20


def main() -> None:
    """Read the inputs of the job on stdin and drop what was read."""
    job = json.load(sys.stdin)
    for path in job["inputs"]:
        READERS[job["format"]](Path(path), job["threads"])


def read_plain(path: Path, _threads: int) -> None:
    """Read a file through one buffer."""
    buffer = bytearray(BUFFER_BYTES)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def read_zstd(path: Path, _threads: int) -> None:
    """Decompress a file into /dev/null."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    with zstd.open(path) as file, Path("/dev/null").open("wb", buffering=0) as sink:
        while data := file.read(BUFFER_BYTES):
            sink.write(data)


def read_parquet(path: Path, threads: int) -> None:
    """Read the text column, one row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    pa.set_cpu_count(threads)
    for _ in parquet.ParquetFile(path).iter_batches(columns=["text"], use_threads=threads > 1):
        pass


READERS = {"jsonl": read_plain, "zst": read_zstd, "parquet": read_parquet}

if __name__ == "__main__":
    main()

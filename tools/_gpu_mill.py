"""Files of JSONL in memory, and rows of them for a trainer: compared and timed."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._core import TextBuffer

if TYPE_CHECKING:
    from _gpu_texts import Text

    from tokenmill import Tokenizer
    from tokenmill.cuda import GpuRowDataset

MEMORY = Path("/dev/shm")  # noqa: S108 -- files that no disk slows down
FILES = 8
CONTEXT, ROWS = 2048, 512
SMALL = 20_000_000  # bytes that are compared


class JsonlFiles:
    """Lines of JSON in memory-backed files, removed at the end; less if there is little room."""

    def __init__(self, text: Text, total: int) -> None:
        total = min(total, 2 * shutil.disk_usage(MEMORY).free // 5)
        self.folder = Path(tempfile.mkdtemp(prefix="tokenmill-", dir=MEMORY))
        lines = b"".join(
            json.dumps({"id": number, "text": document.decode()}, ensure_ascii=False).encode()
            + b"\n"
            for number, document in enumerate(text.documents(text.size))
        )
        times = max(1, -(-total // (FILES * len(lines))))
        self.paths = [self.folder / f"{number}.jsonl" for number in range(FILES)]
        with ThreadPoolExecutor(FILES) as pool:
            list(pool.map(lambda path: self._fill(path, lines, times), self.paths))
        self.size = FILES * times * len(lines)
        self.small = self.folder / "small.jsonl"
        self.small.write_bytes(lines[: lines.rfind(b"\n", 0, SMALL) + 1])

    @staticmethod
    def _fill(path: Path, lines: bytes, times: int) -> None:
        with path.open("wb") as file:
            for _ in range(times):
                file.write(lines)

    def __enter__(self) -> JsonlFiles:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder)


def rows_of(paths: Any, tokenizer: Tokenizer, **options: Any) -> GpuRowDataset:
    """Return the dataset that is compared and timed."""
    from tokenmill.cuda import GpuRowDataset

    given = {"context_length": CONTEXT, "batch_size": ROWS, **options}
    return GpuRowDataset(paths, tokenizer, **given)


def rows_differ(files: JsonlFiles, tokenizer: Tokenizer) -> bool:
    """Compare the ids of all rows of a small file with the CPU engine's; in two sizes of chunks."""
    texts = [json.loads(line)["text"].encode() for line in files.small.read_bytes().splitlines()]
    offsets = np.concatenate(([0], np.cumsum([len(text) for text in texts]))).astype(np.int64)
    flat = np.frombuffer(b"".join(texts), np.uint8)
    batch = tokenizer.encode_batch(TextBuffer(flat, offsets))
    for size in (1 << 20, 64 << 20):
        rows = rows_of(str(files.small), tokenizer, batch_bytes=size, columns=["input_ids"])
        found = np.concatenate([_host(table["input_ids"]).reshape(-1) for table in rows])
        ends = batch.offsets[1:] + np.arange(len(texts))
        wanted = np.insert(batch.ids.astype(np.int64), batch.offsets[1:], found[int(ends[0])])
        if not np.array_equal(found[: wanted.size], wanted):
            return True
    return False


def _host(table: Any) -> Any:
    return table.cpu().numpy() if hasattr(table, "cpu") else np.asarray(table.get())


def time_rows(files: JsonlFiles, tokenizer: Tokenizer, epochs: int) -> dict[str, Any]:
    """GB/s of each epoch: the first one makes memory."""
    import cupy

    rows = rows_of([str(path) for path in files.paths], tokenizer)
    rates = []
    for _ in range(epochs):
        begin = time.perf_counter()
        for batch in rows:
            del batch
        cupy.cuda.Device().synchronize()
        rates.append(files.size / 1e9 / (time.perf_counter() - begin))
    return {
        "GB": files.size / 1e9,
        "GB/s by epoch": [round(rate, 2) for rate in rates],
        "tokens": rows.tokens,
        "fallbacks": dict(rows.fallbacks),
        "chunks that the CPU read": rows.left_to_reader,
    }

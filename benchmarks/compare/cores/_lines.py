"""Gigabytes of JSON lines from one text, made in seconds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from benchmarks.compare.pack._corpus import LONGEST, as_line, documents, read_text

if TYPE_CHECKING:
    from pathlib import Path

BLOCK_DOCUMENTS = 30_000  # about 100 MB; the text starts again, with other cuts, before that


def write_lines(text: Path, folder: Path, size: float, files: int) -> list[Path]:
    """Write `size` bytes to several files; all have the same documents, in another order."""
    stream = documents(read_text(str(text)), LONGEST)
    lines = [as_line(document) for document in islice(stream, BLOCK_DOCUMENTS)]
    paths = [folder / f"{number:03}.jsonl" for number in range(files)]
    for number, path in enumerate(paths):
        first = len(lines) * number // files
        block = b"".join(lines[first:] + lines[:first])
        left = int(size / files)
        with path.open("wb") as file:
            while left > 0:
                end = len(block) if left >= len(block) else block.rfind(b"\n", 0, left) + 1
                if end == 0:
                    break
                left -= file.write(memoryview(block)[:end])
                if end < len(block):
                    break
    return paths

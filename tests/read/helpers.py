"""Read inputs to the end, in one list, by the reader and by the reference."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import lz4.frame
from tests.reference.jsonl import read_line

from tokenmill._read import (
    Place,
    ReadRules,
    deal_streams,
    find_field,
    find_inputs,
    open_stream,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._read import Block, InputFile, Stream

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
    ".lz4": lz4.frame.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@dataclass
class Read:
    """What was read: (file, line, position, text) of documents, and the reason of bad records."""

    documents: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    bad: list[tuple[int, int, int, str]] = field(default_factory=list)
    blank_lines: int = 0
    replaced: dict[str, int] = field(default_factory=dict)
    input_bytes: int = 0
    text_bytes: int = 0

    @property
    def texts(self) -> list[bytes]:
        return [text for *_, text in self.documents]

    def add(self, block: Block, lines_before: dict[int, int]) -> None:
        """Add a block, with line numbers of whole files."""
        ends = block.offsets.tolist()
        for i, (number, line, position) in enumerate(
            zip(block.files.tolist(), block.lines.tolist(), block.positions.tolist(), strict=True)
        ):
            text = bytes(block.text[ends[i] : ends[i + 1]])
            self.documents.append((number, line + lines_before.get(number, 0), position, text))
        for record in block.bad:
            line = record.line + lines_before.get(record.file, 0)
            self.bad.append((record.file, line, record.offset, record.reason))
        self.bad.sort()
        self.blank_lines += block.blank_lines
        self.input_bytes += block.input_bytes
        self.text_bytes += block.text_bytes
        for reason, count in block.replaced.items():
            self.replaced[reason] = self.replaced.get(reason, 0) + count


def read_stream(
    stream: Stream,
    files: Sequence[InputFile],
    rules: ReadRules,
    fields: Sequence[str],
    start: Place | None = None,
) -> list[Block]:
    reader = open_stream(stream, files, rules, fields, start)
    blocks = []
    while (raw := reader.read()) is not None:
        blocks.append(parse(raw, rules, fields))
    reader.close()
    assert [block.ends_stream for block in blocks] == [False] * (len(blocks) - 1) + [True]
    return blocks


def read_all(sources: Sequence[object], rules: ReadRules) -> Read:
    """Read sources to their end."""
    files = find_inputs(sources).files
    fields = [find_field([file], rules) for file in files]
    result = Read()
    lines_before: dict[int, int] = {}
    for stream in deal_streams(files, rules):
        blocks = read_stream(stream, files, rules, fields)
        for block in blocks:
            result.add(block, lines_before)
        last = stream.segments[-1].file
        lines_before[last] = lines_before.get(last, 0) + blocks[-1].segment_lines
    return result


def expected_jsonl(data: bytes, rules: ReadRules, field: str = "text", file: int = 0) -> Read:
    """What a file of lines holds, by the reference."""
    result = Read()
    position = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        is_rest = position == len(data)  # nothing after the last newline
        found = read_line(line, field, rules.max_document_bytes, rules.replace)
        if found is None:
            result.blank_lines += 0 if is_rest else 1
        elif found.text is None:
            result.bad.append((file, number, position, str(found.reason)))
        else:
            result.documents.append((file, number, position, found.text))
            for reason in found.repaired:
                result.replaced[reason] = result.replaced.get(reason, 0) + 1
        position += len(line) + 1
    result.input_bytes = result.text_bytes = len(data)
    return result

"""What will be read next from stores, requested before its turn, so that no worker waits for it."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from tokenmill._store import IN_FLIGHT, RANGE_BYTES, is_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._read.inputs import InputFile
    from tokenmill._read.rules import ReadRules
    from tokenmill._read.streams import Segment, Stream

_BYTES = IN_FLIGHT * RANGE_BYTES // 2  # of what follows
_FILES = 32


def request_start(stream: Stream, files: Sequence[InputFile], *, after: int = -1) -> None:
    """Request the first bytes of a stream, or of what follows one of its segments."""
    asked = 0
    for segment in stream.segments[after + 1 : after + 1 + _FILES]:
        file = files[segment.file]
        if asked >= _BYTES:
            return
        if file.data is None and is_address(file.path) and file.size > 0:
            asked += _request(file, segment, _BYTES - asked)


def _request(file: InputFile, segment: Segment, most_bytes: int) -> int:
    from tokenmill._read.store_file import guess_footer, guess_span

    if file.format == "parquet" and file.size > RANGE_BYTES:
        return guess_footer(file)
    is_lines = file.format in ("jsonl", "text") and file.compression is None
    span = (segment.first_byte, segment.likely_end) if is_lines else (0, None)
    return guess_span(file, *span, most_bytes)


def expect_footers(files: Sequence[InputFile], rules: ReadRules) -> Iterator[InputFile]:
    """Yield the files, with the footers of the next large Parquet files on their way."""
    later = iter(files[_FILES:])
    for file in files[:_FILES]:
        _request_footer(file, rules)
    for file, next_file in zip(files, chain(later, repeat(None)), strict=False):
        if next_file is not None:
            _request_footer(next_file, rules)
        yield file


def _request_footer(file: InputFile, rules: ReadRules) -> None:
    """Request a footer if `deal_streams` will read it, to find row groups."""
    is_object = file.data is None and is_address(file.path)
    if (
        is_object
        and file.format == "parquet"
        and file.size > max(RANGE_BYTES, rules.stream_bytes // 4)
    ):
        from tokenmill._read.store_file import guess_footer

        guess_footer(file)

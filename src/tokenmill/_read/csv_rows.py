"""Rows of CSV; one that is too long is skipped without holding it in memory."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tokenmill._read.blocks import RAW_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_MAX_FIELD = (1 << 31) - 1  # the default of the csv module is 128 KiB
_SKIP = 1 << 20  # characters that are skipped at once
# Appended after the last line; no input bytes are decoded to this, UTF-8 or not.
_END = "\ud800"


class OddRow(list[str]):
    """A bad row; by default one with a quote that is never closed."""

    reason = "bad_row"


class LongRow(OddRow):
    """The start of a row that is too long."""

    reason = "too_long"


class _TooLong(Exception):  # noqa: N818 -- from _lines to __iter__ only
    pass


class CsvRows:
    """Iterates over the rows of a text; none has more than `longest` characters."""

    def __init__(self, text: TextIO, delimiter: str, longest: int) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), _MAX_FIELD))
        self._text = text
        self._delimiter = delimiter
        self._longest = longest
        self._begin = ""
        self._line = ""
        self._size = self._quotes = 0  # of the row that is being read

    def __iter__(self) -> Iterator[list[str]]:
        is_over = False
        while not is_over:
            try:
                yield from self._parsed_rows()
                is_over = True
            except _TooLong:
                is_over = not self._skip_row()
                yield (OddRow if is_over else LongRow)((self._begin,))
                self._size = self._quotes = 0

    def _parsed_rows(self) -> Iterator[list[str]]:
        for row in csv.reader(self._lines(), delimiter=self._delimiter):
            self._size = self._quotes = 0
            if row and row[-1].endswith(_END):
                if row != [_END]:
                    yield OddRow((*row[:-1], row[-1].removesuffix(_END)))
            elif row:
                yield row

    def _lines(self) -> Iterator[str]:
        while line := self._text.readline(self._longest + 1):
            if not self._size:
                self._begin = line[:RAW_BYTES]
            self._size += len(line)
            self._quotes += line.count('"')
            if self._size > self._longest:
                self._line = line
                raise _TooLong
            yield line
        yield _END

    def _skip_row(self) -> bool:
        """Skip to the end of the row, where all quotes are closed; False if there is none."""
        while self._quotes % 2 or not self._line.endswith(("\n", "\r")):
            self._line = self._text.readline(_SKIP)
            if not self._line:
                return self._quotes % 2 == 0
            self._quotes += self._line.count('"')
        return True

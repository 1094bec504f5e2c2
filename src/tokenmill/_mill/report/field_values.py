"""A field of the inputs, read again: its value for some documents, by file and line."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import InputError
from tokenmill._mill.report.languages import UNKNOWN
from tokenmill._read import InputFile, ReadRules, Segment, Stream, find_inputs, open_stream, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._mill.report.groups import CorpusFile

_TABLES = ("jsonl", "csv", "tsv", "parquet", "arrow")  # formats whose records have fields


class FieldValues:
    """Reads one field of an input file with the readers of `pack`, and keeps one file at a time."""

    def __init__(self, files: Sequence[CorpusFile], name: str, options: dict[str, Any]) -> None:
        self._files = {file.path: file for file in files}
        self._name = name
        self._rules = ReadRules(field=name, delimiter=options.get("delimiter"))
        self._path = ""
        self._lines = np.empty(0, np.int64)
        self._codes = np.empty(0, np.int64)
        self._names: list[str] = [UNKNOWN]

    def of(self, path: str, lines: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
        """Return the values of a file, and for each line which of them it has."""
        if path != self._path:
            self._read(self._files[path])
            self._path = path
        at = np.searchsorted(self._lines, lines)
        at = np.minimum(at, max(len(self._lines) - 1, 0))
        found = np.zeros(len(lines), np.int64)
        if len(self._lines):
            known = self._lines[at] == lines
            found[known] = self._codes[at[known]]
        return self._names, found

    def _read(self, file: CorpusFile) -> None:
        self._names, self._lines, self._codes = [UNKNOWN], np.empty(0, np.int64), self._codes[:0]
        if file.entry["format"] not in _TABLES:
            return
        given = _unchanged(file)
        reader = open_stream(Stream((Segment(0),)), [given], self._rules, [self._name])
        numbers: dict[bytes, int] = {UNKNOWN.encode(): 0}
        lines, codes = [self._lines], [self._codes]
        try:
            while (raw := reader.read()) is not None:
                block = parse(raw, self._rules, [self._name])
                text, ends = block.text.tobytes(), block.offsets.tolist()
                lines.append(block.lines)
                values = (text[a:b] for a, b in pairwise(ends))
                codes.append(
                    np.array([numbers.setdefault(v, len(numbers)) for v in values], np.int64)
                )
        finally:
            reader.close()
        self._names = [name.decode("utf-8", "replace") for name in numbers]
        self._lines, self._codes = np.concatenate(lines), np.concatenate(codes)


def _unchanged(file: CorpusFile) -> InputFile:
    """Return an input as it was packed; raise InputError if it is gone or has changed."""
    entry = file.entry
    found = find_inputs([entry["path"]], input_format=entry["format"]).files[0]
    then = (entry["size"], entry["modified_ns"], entry.get("tag", ""))
    if (found.size, found.modified_ns, found.tag) != then:
        raise InputError(
            "it has changed since it was packed, so its lines are no longer the documents",
            path=file.path,
            hint="without a field, the report needs no input: leave the option out",
        )
    return found

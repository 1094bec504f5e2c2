"""Groups of documents: those of one input file, and of one language where a field tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._mill.output.tables import shown_path
from tokenmill._mill.report.languages import UNKNOWN
from tokenmill._mill.report.lengths import LengthCounts
from tokenmill._mill.report.per_document import per_document
from tokenmill._write.arrow_arrays import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._mill.output.document_table import DocumentTable
    from tokenmill._mill.report.field_values import FieldValues
    from tokenmill._mill.report.languages import LanguageRule

MOST_FILES = 1000  # that get a group of their own; otherwise files of one source share one
_LANGUAGES = 500  # different values of a field; the others are one group
OTHERS = "others"


@dataclass(frozen=True)
class CorpusFile:
    """An input file of the plan, and the source that it belongs to."""

    path: str
    source: str
    size: int  # as stored; -1 if unknown
    entry: dict[str, Any]  # of the plan


def source_files(plan: dict[str, Any]) -> list[CorpusFile]:
    """Return the input files of a plan, those of rewritten outputs too."""
    names = [str(source["name"]) for source in plan["sources"]]
    found = [
        CorpusFile(shown_path(entry["path"]), names[entry["source"]], entry["size"], entry)
        for entry in plan["inputs"]
    ]
    for origin in plan.get("from", ()):
        found += source_files(origin["plan"])
    return found


@dataclass(frozen=True)
class DocumentGroup:
    """Documents with the same source, file and language; `file` is None if files are too many."""

    source: str
    file: str | None
    language: str


@dataclass
class Grouping:
    """The group of every document, by its number, and the lengths of the documents in each."""

    keys: list[DocumentGroup]
    of: NDArray[Any]
    lengths: LengthCounts
    tokens: NDArray[Any]  # of every document

    def groups(self, name: str) -> dict[str, list[int]]:
        """Return the groups that share a source, a file or a language, by its name."""
        found: dict[str, list[int]] = {}
        for number, key in enumerate(self.keys):
            value = getattr(key, name)
            if value is not None:
                found.setdefault(value, []).append(number)
        return found


class Grouper:
    """Reads the table of documents once, and gives every document its group."""

    def __init__(
        self, files: list[CorpusFile], rule: LanguageRule, values: FieldValues | None
    ) -> None:
        self._files = {file.path: file for file in files}
        self._rule = rule
        self._values = values
        self._by_file = len(self._files) <= MOST_FILES
        self._numbers: dict[DocumentGroup, int] = {}

    def run(self, table: DocumentTable) -> Grouping:
        """Return the groups of all documents."""
        of = per_document(len(table), np.uint32)
        tokens = per_document(len(table), np.int64)
        counts = LengthCounts(0)
        done = 0
        for part in table.groups():
            lengths = numbers_of(part["tokens"])
            group = np.empty(len(lengths), np.int64)
            for begin, end, name in _files_in(part["file"]):
                group[begin:end] = self._groups_of(name, part["line"][begin:end])
            counts = _grown(counts, len(self._numbers))
            counts.add(group, lengths)
            of[done : done + len(lengths)] = group
            tokens[done : done + len(lengths)] = lengths
            done += len(lengths)
        return Grouping(list(self._numbers), of, counts, tokens)

    def _groups_of(self, path: str, lines: Any) -> NDArray[np.int64] | int:
        if self._values is None or path not in self._files:
            return self._number(path, self._rule.of_path(path))
        names, codes = self._values.of(path, numbers_of(lines))
        return np.array([self._number(path, name) for name in names], np.int64)[codes]

    def _number(self, path: str, language: str) -> int:
        file = self._files.get(path)
        source = UNKNOWN if file is None else file.source
        key = DocumentGroup(source, path if self._by_file else None, language)
        if key not in self._numbers and len(self._numbers) >= MOST_FILES + _LANGUAGES:
            key = DocumentGroup(source, path if self._by_file else None, OTHERS)
        return self._numbers.setdefault(key, len(self._numbers))


def _files_in(column: Any) -> Iterator[tuple[int, int, str]]:
    """Yield runs of rows with the same file."""
    at = 0
    for chunk in column.chunks:
        names = chunk.dictionary.to_pylist()
        codes = np.asarray(chunk.indices)
        edges = np.flatnonzero(np.diff(codes)) + 1
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(codes)], strict=True):
            if end > begin:
                yield at + begin, at + end, names[int(codes[begin])]
        at += len(codes)


def _grown(counts: LengthCounts, groups: int) -> LengthCounts:
    """Return counts with room for more groups."""
    have = len(counts.documents)
    if groups <= have:
        return counts
    more = LengthCounts(max(groups, 2 * have))
    for name in ("documents", "tokens", "least", "most", "bins"):
        getattr(more, name)[:have] = getattr(counts, name)
    return more

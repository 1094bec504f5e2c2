"""The texts of files, read as the mill reads them, in batches of Arrow strings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import xxhash

from tokenmill._errors import OptionError
from tokenmill._mill.plan.sources import as_sources
from tokenmill._mill.plan.task import find_fields, list_files
from tokenmill._read import ReadRules, deal_streams, open_stream, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._read import BadRecord, Block

_FORGIVEN = "empty_text"  # not a fault
_NO_FIELD = "missing_field"


class FileTexts:
    """Paths, globs and folders as an iterable of Arrow arrays of texts, in the order of the plan.

    `skipped` counts the records without a text, by reason, and `first` is the file of the first
    faulty one; both are those of the last iteration. `fingerprint` changes when a file does.
    """

    def __init__(self, inputs: Any, text_column: str | None) -> None:  # paths
        self._rules = ReadRules(field=text_column)
        sources = as_sources(inputs)
        self._files, self.left_out = list_files(sources)
        self.notes: list[str] = []
        try:
            self._fields = find_fields(self._files, sources, self._rules, self.notes)
        except OptionError as error:
            hint = error.hint_for(lambda _: "text_column=")  # what `field` is called here
            raise OptionError(error.problem, where=error.where, hint=hint) from error
        self.skipped: Counter[str] = Counter()
        self.first = ""

    @property
    def fingerprint(self) -> str:
        """A hash of the names, sizes and times of all files, and of their text fields."""
        facts = [
            (file.path, file.size, file.tag or file.modified_ns, field)
            for file, field in zip(self._files, self._fields, strict=True)
        ]
        return str(xxhash.xxh3_128_hexdigest(repr(facts).encode("utf-8", "backslashreplace")))

    def __iter__(self) -> Iterator[Any]:
        self.skipped.clear()
        self.first = ""
        found = False
        for stream in deal_streams(self._files, self._rules):
            reader = open_stream(stream, self._files, self._rules, self._fields)
            try:
                while (raw := reader.read()) is not None:
                    block = parse(raw, self._rules, self._fields)
                    self._note(block.bad)
                    if len(block):
                        found = True
                        yield _strings(block)
            finally:
                reader.close()
        if not found and self.skipped[_NO_FIELD]:
            raise OptionError(
                f"no record has a field {self._rules.field!r}",
                where="text_column",
                hint=f"look into {self.first}; use dots for nested fields",
            )

    @property
    def words(self) -> str:
        """The files that were found, as a line of the log."""
        count = len(self._files)
        found = [f"{count:,} file{'' if count == 1 else 's'}"]
        found += [" ".join(note.split()) for note in self.notes]
        if self.left_out:
            found.append(f"{self.left_out:,} of other kinds left out")
        return ", ".join(found)

    def complaint(self) -> str:
        """Return what was left out and why, or "" if nothing was."""
        words = [f"{n:,} {why.replace('_', ' ')}" for why, n in sorted(self.skipped.items())]
        place = f" (the first in {self.first})" if self.first else ""
        return f"records left out: {', '.join(words)}{place}" if words else ""

    def _note(self, bad: tuple[BadRecord, ...]) -> None:
        for record in bad:
            self.skipped[record.reason] += 1
            if record.reason != _FORGIVEN:
                self.first = self.first or self._files[record.file].path


def _strings(block: Block) -> Any:  # pyarrow has no types
    """Return the texts of a block as Arrow strings, without a copy."""
    buffers = [None, pa.py_buffer(block.offsets), pa.py_buffer(block.text)]
    return pa.Array.from_buffers(pa.large_string(), len(block), buffers)

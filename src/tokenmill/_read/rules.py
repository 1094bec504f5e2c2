"""How inputs are read: options that are the same for all files of a run."""

from __future__ import annotations

from dataclasses import dataclass

from tokenmill._checks import whole_number
from tokenmill._errors import OptionError

# A line may be longer than its text: escapes, other fields.
LINE_SLACK = 1 << 20
REPAIRABLE = frozenset({"bad_utf8", "lone_surrogate"})
FILE_MODE = "file"
LINE_MODE = "line"


@dataclass(frozen=True)
class ReadRules:
    """Reading options.

    `field` is the name of the text field, with dots for nested ones; None detects it. `text_mode`
    divides plain text: "file" (one document per file), "line", or any other string as the separator
    between documents. White space alone between two separators, like a blank line, is not a
    document. `replace` lists the reasons whose records are repaired with U+FFFD. `block_bytes` and
    `stream_bytes` are the sizes of blocks and streams; neither changes a document. With
    `skip_bad_files`, a file that cannot be read is a bad record instead of an error. `fetch_rows`
    rows of a dataset are fetched at a time.
    """

    field: str | None = None
    text_mode: str = FILE_MODE
    max_document_bytes: int = 1 << 30
    replace: frozenset[str] = frozenset()
    block_bytes: int = 8 << 20
    stream_bytes: int = 64 << 20
    delimiter: str | None = None  # of CSV; None: by the format
    skip_bad_files: bool = False
    fetch_rows: int = 1000

    def __post_init__(self) -> None:
        if unknown := sorted(self.replace - REPAIRABLE):
            raise OptionError(
                f"expected some of {', '.join(sorted(REPAIRABLE))}, got {', '.join(unknown)}",
                where="replace",
                hint="a record without text cannot be repaired",
            )
        for name in ("max_document_bytes", "block_bytes", "stream_bytes", "fetch_rows"):
            whole_number(name, getattr(self, name))
        if not self.text_mode:
            raise OptionError('expected "file", "line" or a separator, got ""', where="text_mode")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise OptionError(
                f"expected one character, got {self.delimiter!r}",
                where="delimiter",
                hint="a tab is $'\\t' in a shell",
            )
        if self.field == "":
            raise OptionError("expected the name of a field, got an empty string", where="field")

    @property
    def max_line_bytes(self) -> int:
        """The length above which a line is not parsed."""
        return self.max_document_bytes + LINE_SLACK

    def separator_of(self, format: str) -> bytes | None:  # noqa: A002 -- as InputFile names it
        """Return the separator of records of a format; None if the whole file is one record."""
        if format == "jsonl" or self.text_mode == LINE_MODE:
            return b"\n"
        return None if self.text_mode == FILE_MODE else self.text_mode.encode()

"""How inputs are read: options that are the same for all files of a run."""

from __future__ import annotations

from dataclasses import dataclass

from tokenmill._errors import OptionError

# A line may be longer than its text: escapes, other fields.
LINE_SLACK = 1 << 20
MENDABLE = frozenset({"bad_utf8", "lone_surrogate"})
FILE_MODE = "file"
LINE_MODE = "line"


@dataclass(frozen=True)
class ReadRules:
    """Options of reading.

    `field` is the name of the text field, with dots for nested ones; None finds it. `text_mode`
    cuts plain text: "file" (one document a file), "line", or anything else as the separator that
    stands between documents. White space alone between two separators, like a blank line, is no
    document. `replace` names the reasons whose records are mended with U+FFFD. Blocks and streams
    are cut by `block_bytes` and `stream_bytes`; neither changes a document. With `skip_bad_files`,
    a file that cannot be read is a bad record instead of an error. `fetch_rows` are asked of a
    dataset at a time.
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
        if unknown := sorted(self.replace - MENDABLE):
            raise OptionError(
                f"expected some of {', '.join(sorted(MENDABLE))}, got {', '.join(unknown)}",
                where="replace",
                hint="what has no text cannot be mended",
            )
        for name in ("max_document_bytes", "block_bytes", "stream_bytes", "fetch_rows"):
            if getattr(self, name) < 1:
                raise OptionError(f"expected 1 or more, got {getattr(self, name)}", where=name)
        if not self.text_mode:
            raise OptionError('expected "file", "line" or a separator, got ""', where="text_mode")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise OptionError(
                f"expected one character, got {self.delimiter!r}",
                where="delimiter",
                hint="a tab is $'\\t' in a shell",
            )
        if self.field == "":
            raise OptionError("expected the name of a field, got nothing", where="field")

    @property
    def max_line_bytes(self) -> int:
        """The length above which a line is not looked into."""
        return self.max_document_bytes + LINE_SLACK

    def separator_of(self, format: str) -> bytes | None:  # noqa: A002 -- as InputFile names it
        """Return what ends a record of a format; None where the whole file is one."""
        if format == "jsonl" or self.text_mode == LINE_MODE:
            return b"\n"
        return None if self.text_mode == FILE_MODE else self.text_mode.encode()

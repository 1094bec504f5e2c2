"""Views of `tokenmill inspect` as lines of text: wrapped to the terminal, nothing unprintable."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._mill.views import DocumentView, RowView, SourceView

_UNPRINTABLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_NAMES = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}
_HEAD_LINES, _TAIL_LINES = 14, 4
_INDENT = "  "
_IGNORED = -100


class Page:
    """Writes views as lines, as wide as the terminal."""

    def __init__(self, *, ids: bool, mask: bool, whole: bool) -> None:
        self._ids, self._mask, self._whole = ids, mask, whole
        self._width = max(shutil.get_terminal_size().columns, 20)
        self._colour = (
            sys.stdout.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )

    def lines(self, view: RowView | DocumentView | SourceView) -> Iterator[str]:
        """Yield the lines of a view."""
        kind = type(view).__name__
        page: Any = {"RowView": self._row, "DocumentView": self._document}.get(kind, self._source)
        yield from page(view)

    def _row(self, view: RowView) -> Iterator[str]:
        count = len(view.pieces)
        padding = f", {view.padding:,} of padding" if view.padding else ""
        yield from self._title(
            f"row {view.row:,} of {view.split}: {view.tokens:,} tokens{padding}, {count:,} "
            f"piece{'s' if count != 1 else ''} (row {view.row_of_shard:,} of {view.shard})"
        )
        column = 0
        for piece in view.pieces:
            yield ""
            whole = piece.begins_document and piece.ends_document
            ends = "" if piece.begins_document else ", started earlier"
            ends += "" if piece.ends_document else ", continues elsewhere"
            yield from self._title(
                f"document {piece.place.number:,}, {_range(piece.begin, piece.end)} of "
                f"{piece.place.tokens:,} tokens{', whole' if whole else ends}"
            )
            yield from self._from(piece.place)
            marks = list(zip(piece.position_ids, piece.labels, strict=True)) if self._mask else None
            yield from self._content(piece, column, marks)
            column += len(piece.ids)
        if view.padding:
            yield ""
            yield from self._title(f"{view.padding:,} of padding")

    def _document(self, view: DocumentView) -> Iterator[str]:
        yield from self._title(f"document {view.place.number:,}: {view.place.tokens:,} tokens")
        yield from self._from(view.place)
        for spot in view.spots:
            yield from self._wrap(
                f"{_range(spot.begin, spot.begin + spot.length)} in row {spot.row:,} of "
                f"{spot.split}, from column {spot.column:,}"
            )
        if view.missing:
            yield from self._wrap(f"{view.missing:,} tokens are in no row")
        yield ""
        yield from self._content(view, 0, None)

    def _source(self, view: SourceView) -> Iterator[str]:
        place = f"{view.file}:{view.line}"
        for document in view.documents:
            yield from self._document(document)
        for record in view.quarantine:
            reason = record["reason"].replace("_", " ")
            yield from self._title(f"{place} was quarantined: {reason}")
            offset, length = record["offset"], record["length"]
            where = f"; at byte {offset:,}" if offset >= 0 else ""
            where += f", {length:,} bytes" if length >= 0 else ""
            yield from self._wrap(f"{record['message']}{where}:")
            yield from self._shorten(list(self._wrap(record["raw"])))
        if not view.documents and not view.quarantine:
            yield from self._wrap(
                f"{place}: no document starts here, and nothing was quarantined: the line is "
                "blank, was skipped, or does not exist",
                "",
            )

    def _from(self, place: Any) -> Iterator[str]:  # a DocumentPlace
        offset = f", byte {place.offset:,}" if place.offset >= 0 else ""  # rows of tables have none
        yield from self._wrap(f"from {place.file}:{place.line}{offset}")

    def _content(
        self, view: Any, column: int, marks: list[tuple[int, int]] | None
    ) -> Iterator[str]:  # fmt: skip
        """Yield the text, or a line for each token."""
        if not self._ids and marks is None:
            yield from self._shorten(list(self._wrap(view.text)))
            return
        rows = []
        for at, (token, text) in enumerate(zip(view.ids, view.tokens, strict=True)):
            cells = f"{_INDENT}{column + at:>7} {token:>8}"
            if marks is not None:
                position, label = marks[at]
                cells += f" {position:>7} {'-' if label == _IGNORED else label:>8}"
            rows.append(_clip(f'{cells}  "{_escape(text)}"', self._width))
        head = f"{_INDENT}{'column':>7} {'id':>8}"
        head += f" {'pos':>7} {'label':>8}" if marks is not None else ""
        yield _clip(f"{head}  token", self._width)
        yield from self._shorten(rows)

    def _shorten(self, lines: list[str]) -> Iterator[str]:
        left_out = len(lines) - _HEAD_LINES - _TAIL_LINES
        if self._whole or left_out <= 1:
            yield from lines
            return
        yield from lines[:_HEAD_LINES]
        yield from self._title(f"{_INDENT}... {left_out:,} more lines; --all shows them")
        yield from lines[-_TAIL_LINES:]

    def _title(self, text: str) -> Iterator[str]:
        for line in self._wrap(text, ""):
            yield f"\x1b[1;36m{line}\x1b[0m" if self._colour else line

    def _wrap(self, text: str, indent: str = _INDENT) -> Iterator[str]:
        """Cut text to the width of the terminal; a newline is shown, and followed."""
        for paragraph in re.findall("[^\n]*\n|[^\n]+", text) or [""]:
            yield from _fold(paragraph, self._width - len(indent), indent)


def _fold(text: str, width: int, indent: str) -> Iterator[str]:
    """Cut a paragraph into lines, after a space if the second half has one."""
    line: list[str] = []  # characters, as they are shown
    used = 0
    for character in text:
        shown = _escape(character)
        if used + _columns(shown) > width:
            cut = _last_space(line)
            yield indent + "".join(line[:cut])
            line = line[cut:]
            used = _columns("".join(line))
        line.append(shown)
        used += _columns(shown)
    yield indent + "".join(line)


def _last_space(line: list[str]) -> int:
    """Return how many characters to keep: up to the last space, or all of them."""
    for at in range(len(line) - 1, len(line) // 2, -1):
        if line[at] == " ":
            return at + 1
    return len(line)


def _range(begin: int, end: int) -> str:
    """Name tokens from the first to the last."""
    return f"{begin:,} to {end - 1:,}" if end > begin else "none"


def _escape(text: str) -> str:
    r"""Escape what a terminal would act on, or not show: "a\x1b" -> "a\\x1b"."""
    return "".join(
        _NAMES.get(c) or c.encode("unicode_escape").decode()
        if unicodedata.category(c) in _UNPRINTABLE
        else c
        for c in text
    )


def _columns(text: str) -> int:
    """Return how wide a terminal shows printable text."""
    return sum(_column(character) for character in text)


def _column(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _clip(text: str, width: int) -> str:
    """Cut text that is too wide."""
    used = 0
    for at, character in enumerate(text):
        used += _column(character)
        if used > width:
            return text[:at]
    return text

"""What kind of file this is: by its name, and by its first bytes where the name does not say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tokenmill._read.codecs import MAGIC, SUFFIXES, open_codec

if TYPE_CHECKING:
    from collections.abc import Callable

    # Format and compression; the format may still be open.
    Kind = tuple[str | None, str | None]

FORMATS = ("jsonl", "text", "csv", "tsv", "parquet", "arrow", "dataset")
TABLES = frozenset({"parquet", "arrow", "csv", "tsv", "dataset"})
HEAD_BYTES = 1 << 16
_FORMAT_OF = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl", ".json": "jsonl",
    ".txt": "text", ".text": "text", ".md": "text", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow",
}  # fmt: skip
_TABLE_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow"}


def by_suffix(path: str) -> Kind | None:
    """Return the kind that a name says; None if its suffix is unknown.

    "a.jsonl.zst" -> ("jsonl", "zst"); "a.zst" -> (None, "zst"); "a.dat" -> None
    """
    name = path.rsplit("/", 1)[-1].lower()
    compression = None
    for suffix, codec in SUFFIXES.items():
        if name.endswith(suffix):
            name, compression = name.removesuffix(suffix), codec
            break
    for suffix, format_name in _FORMAT_OF.items():
        if name.endswith(suffix):
            return format_name, compression
    return None if compression is None else (None, compression)


def by_content(head: bytes, kind: Kind | None = None) -> Kind:
    """Return the kind that the first bytes of a file say; what `kind` knows already stays."""
    compression = kind[1] if kind else None
    if compression is None:
        compression = next((c for magic, c in MAGIC.items() if head.startswith(magic)), None)
    if compression is not None:
        head = decompressed_head(head, compression)
    table = next((f for magic, f in _TABLE_MAGIC.items() if head.startswith(magic)), None)
    if table is not None:
        return table, compression
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]
    return "jsonl" if first == b"{" else "text", compression


def decompressed_head(head: bytes, compression: str, size: int = HEAD_BYTES) -> bytes:
    """Decompress what can be of the first bytes of a file; damage shows when it is read."""
    codec = open_codec(compression)
    try:
        return bytes(codec.new_decoder().decompress(head, size))
    except codec.errors:
        return b""


def stdin_head(size: int = HEAD_BYTES) -> bytes:
    """Return what stdin has ready, and leave it there."""
    return bytes(sys.stdin.buffer.peek(size)) if hasattr(sys.stdin.buffer, "peek") else b""


def stdin_input(make: Callable[..., Any], number: int) -> Any:  # noqa: ANN401 -- what `make` makes
    """Describe stdin."""
    kind = by_content(stdin_head())
    return make(number, "-", -1, 0, kind[0], kind[1])

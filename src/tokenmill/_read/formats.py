"""The format of a file: by its suffix, or else by its first bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._read.codecs import MAGIC, SUFFIXES

if TYPE_CHECKING:
    # Format and compression; the format may be unknown.
    Kind = tuple[str | None, str | None]

FORMATS = ("jsonl", "text", "csv", "tsv", "parquet", "arrow", "dataset")
OF_FILES = tuple(name for name in FORMATS if name != "dataset")
TABLES = frozenset({"parquet", "arrow", "csv", "tsv", "dataset"})
HEAD_BYTES = 1 << 16
_FORMAT_OF = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl", ".json": "jsonl",
    ".txt": "text", ".text": "text", ".md": "text", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow",
}  # fmt: skip
# An Arrow stream has no magic number: it starts with the marker of a message.
_TABLE_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


def by_suffix(path: str) -> Kind | None:
    """Return the kind that a suffix means; None if it is unknown.

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


def compression_of(head: bytes) -> str | None:
    """Return the compression that the first bytes of a file show."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def format_of(head: bytes) -> str:
    """Return the format that the first bytes of a file, decompressed, show."""
    table = next((name for magic, name in _TABLE_MAGIC.items() if head.startswith(magic)), None)
    if table is not None:
        return table
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]
    return "jsonl" if first == b"{" else "text"

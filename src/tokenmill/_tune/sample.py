"""A sample of the user's files in the form they have: as many at once, compressed the same way."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._errors import OptionError
from tokenmill._read.codecs import open_codec
from tokenmill._read.remote import is_remote
from tokenmill._read.stdin import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenmill._read import InputFile

_MOST_FILES = 16
_SHRINKS = 4  # about how much compression shrinks text
_PIECE = 1 << 20  # bytes that are read at a time


@dataclass(frozen=True)
class FileSample:
    """What the trials read: paths, about how much text they hold, and whether that is all of it."""

    paths: tuple[str, ...]
    text_bytes: int
    is_everything: bool


def take_sample(files: Sequence[InputFile], size: int, folder: Path) -> FileSample:
    """Choose files spread over all of them; those that are too long are cut into `folder`."""
    for file in files:
        if file.data is not None or file.path == STDIN or is_remote(file.path):
            raise OptionError(
                f"expected files of this machine, got {file.path}",
                where="INPUT",
                hint="copy some of the data here, and tune with that",
            )
    total = sum(map(_text_bytes, files))
    if total <= size:
        return FileSample(tuple(file.path for file in files), total, is_everything=True)
    chosen = _spread(files, min(_MOST_FILES, len(files)))
    share = max(_PIECE, size // len(chosen))
    paths, found = [], 0
    for number, file in enumerate(chosen):
        path, length = file.path, _text_bytes(file)
        if length > share and file.format != "arrow":  # which cannot be cut without reading it
            target = folder / f"{number:03d}-{Path(file.path).name}"
            length = _cut(file, share, target)
            path = str(target)
        paths.append(path)
        found += length
    return FileSample(tuple(paths), found, is_everything=False)


def _text_bytes(file: InputFile) -> int:
    """Guess how much text a file holds."""
    shrunk = file.compression is not None or file.format == "parquet"
    return max(0, file.size) * (_SHRINKS if shrunk else 1)


def _spread(files: Sequence[InputFile], count: int) -> list[InputFile]:
    """Choose files at even distances, in their order: 10 files, 3 -> numbers 0, 3, 6."""
    return [files[number * len(files) // count] for number in range(count)]


def _cut(file: InputFile, size: int, target: Path) -> int:
    """Write the first part of a file, up to the end of a line; return how much text it holds."""
    if file.format == "parquet":
        return _cut_parquet(file, size, target)
    text = _read_some(file, size)
    end = text.rfind(b"\n") + 1
    text = text[:end] if end else text
    compress = _COMPRESS.get(file.compression or "", bytes)
    target.write_bytes(compress(text))
    return len(text)


def _read_some(file: InputFile, size: int) -> bytes:
    with Path(file.path).open("rb") as stream:
        if file.compression is None:
            return stream.read(size)
        decoder = open_codec(file.compression).new_decoder()
        found = bytearray()
        while len(found) < size and not decoder.eof:
            data = stream.read(_PIECE) if decoder.needs_input else b""
            if not data and decoder.needs_input:
                break
            found += decoder.decompress(data, _PIECE)
        return bytes(found[:size])


def _cut_parquet(file: InputFile, size: int, target: Path) -> int:
    """Write the first row groups."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file.path) as source:
        kind = source.metadata.row_group(0).column(0).compression.lower()
        found = 0
        with pq.ParquetWriter(
            target, source.schema_arrow, compression="none" if kind == "uncompressed" else kind
        ) as writer:
            for number in range(source.num_row_groups):
                writer.write_table(source.read_row_group(number))
                found += source.metadata.row_group(number).total_byte_size
                if found >= size:
                    break
    return int(found)


def _zst(text: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    packed: bytes = zstd.compress(text)
    return packed


def _lz4(text: bytes) -> bytes:
    from lz4 import frame

    packed: bytes = frame.compress(text)
    return packed


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "zst": _zst, "lz4": _lz4, "bz2": bz2.compress, "xz": lzma.compress,
}  # fmt: skip

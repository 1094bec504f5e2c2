"""Decompressors. All have the interface of `bz2.BZ2Decompressor`: bounded output, a known end."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIXES = {
    ".gz": "gz", ".gzip": "gz", ".zst": "zst", ".zstd": "zst", ".lz4": "lz4", ".bz2": "bz2",
    ".xz": "xz",
}  # fmt: skip
MAGIC = {
    b"\x1f\x8b": "gz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\x04\x22\x4d\x18": "lz4",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
}
# Dumps of large sites are made with `zstd --long=31`, a window of two gigabytes.
_WINDOW_LOG_MAX = 31


@dataclass(frozen=True)
class Codec:
    """How to decompress one kind of data, and which errors its library raises."""

    new_decoder: Callable[[], Any]
    errors: tuple[type[Exception], ...]


def open_codec(compression: str) -> Codec:
    """Return the codec of a compression; libraries are imported here."""
    return _OPENERS[compression]()


def _gz() -> Codec:
    from isal import igzip_lib

    damaged: Any = igzip_lib.error  # an instance in its type stub
    return Codec(
        lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
        (damaged, OSError, EOFError, ValueError),
    )


def _zst() -> Codec:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
    return Codec(lambda: zstd.ZstdDecompressor(options=options), (zstd.ZstdError, EOFError))


def _lz4() -> Codec:
    try:
        from lz4 import frame
    except ImportError as error:
        raise MissingDependency(
            "not installed, but .lz4 files need it", name="lz4", hint="pip install 'tokenmill[lz4]'"
        ) from error
    return Codec(frame.LZ4FrameDecompressor, (RuntimeError, EOFError, ValueError))


def _bz2() -> Codec:
    import bz2

    return Codec(bz2.BZ2Decompressor, (OSError, EOFError, ValueError))


def _xz() -> Codec:
    import lzma

    return Codec(
        lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ), (lzma.LZMAError, EOFError, ValueError)
    )


_OPENERS = {"gz": _gz, "zst": _zst, "lz4": _lz4, "bz2": _bz2, "xz": _xz}

"""The `.mill` file: header, checksum, mapping, compressed form (docs/develop/decisions/0003)."""

from __future__ import annotations

import mmap
import os
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import xxhash

from tokenmill._errors import CorruptModel, SourceNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenmill._spec import TokenizerSpec

MAGIC = b"\x89MILL\r\n\x1a"
FORMAT_VERSION = 6
PAGE = 4096
_COMPRESSED = 1
_HEADER = struct.Struct("<8sIIQQ4s28s")
_CHECKSUM = slice(24, 32)
_BYTE_ORDER = (0x01020304).to_bytes(4, sys.byteorder)
_REBUILD = "compile it again from the tokenizer it was made of"


class ModelFile:
    """An open file: the compiled model, or the packed spec of the compressed form.

    `payload` is a view of the mapped file and keeps the mapping alive; `checksum` is that of the
    file, verified.
    """

    def __init__(
        self, path: str | Path, payload: memoryview, checksum: int, *, is_compressed: bool
    ) -> None:
        self.path = path
        self.payload = payload
        self.checksum = checksum
        self.is_compressed = is_compressed

    def spec(self) -> TokenizerSpec:
        """Unpack the compressed form."""
        from tokenmill._model.compressed import unpack_spec  # brings the room of specs

        return unpack_spec(bytes(self.payload), str(self.path))


def write_model(payload: bytes, path: str | Path) -> None:
    """Write a compiled model; the file appears whole or not at all."""
    head = _header(len(payload), 0)
    _write(path, [head, bytes(PAGE - len(head)), payload])


def write_compressed(spec: TokenizerSpec, path: Path) -> None:
    """Write the small form of a tokenizer, which is compiled when it is loaded."""
    from tokenmill._model.compressed import pack_spec  # brings the room of specs

    payload = pack_spec(spec)
    _write(path, [_header(len(payload), _COMPRESSED), payload])


def is_model_file(path: str | Path) -> bool:
    """Tell whether a file claims to be a compiled model."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def open_model(path: str | Path) -> ModelFile:
    """Map a file and verify it: CorruptModel if one bit of it is not as written."""
    view = _map(path)
    if len(view) < _HEADER.size or view[: len(MAGIC)] != MAGIC:
        raise _corrupt(path, "not a compiled model: the first bytes are others", _REBUILD)
    _, version, flags, size, checksum, byte_order, reserved = _HEADER.unpack_from(view)
    if version > FORMAT_VERSION:
        problem = f"format version {version}, this tokenmill reads {FORMAT_VERSION}"
        raise _corrupt(path, problem, f"upgrade tokenmill, or {_REBUILD}")
    begin = _HEADER.size if flags & _COMPRESSED else PAGE
    if len(view) != begin + size:
        problem = f"expected {begin + size} bytes, got {len(view)}: cut short, or added to"
        raise _corrupt(path, problem, _REBUILD)
    if _checksum([view]) != checksum:
        raise _corrupt(path, "the checksum is wrong: the file is damaged", _REBUILD)
    if byte_order != _BYTE_ORDER:
        raise _corrupt(path, "written on a machine of the other byte order", _REBUILD)
    if version != FORMAT_VERSION or flags & ~_COMPRESSED or any(reserved):
        raise _corrupt(path, f"unknown version {version} or flags {flags:#x}", _REBUILD)
    return ModelFile(path, view[begin:], checksum, is_compressed=bool(flags & _COMPRESSED))


def checksum_of(payload: bytes | memoryview) -> int:
    """Return the checksum of the file that a compiled model would be written to."""
    return _checksum([_header(len(payload), 0).ljust(PAGE, b"\0"), payload])


def write_atomically(name: str | Path, parts: Sequence[bytes]) -> None:
    """Write next to `name`, sync, rename: readers see the old file or the new one."""
    # Imported here: to read a file, neither is needed.
    from tokenmill._platform.files import create, remove_unless_used, replace
    from tokenmill._platform.folders import sync_folder

    folder, last = os.path.split(name)
    unfinished = os.path.join(folder, f".{last}.{os.urandom(8).hex()}")
    try:
        # The system itself applies the umask: to read it, it must be changed, for all threads.
        with os.fdopen(create(unfinished), "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        replace(unfinished, name)
    except BaseException:
        remove_unless_used(unfinished)
        raise
    with suppress(OSError):  # not every system can
        sync_folder(folder or os.curdir)


def _write(path: str | Path, parts: list[bytes]) -> None:
    head = bytearray(parts[0])
    head[_CHECKSUM] = _checksum(parts).to_bytes(8, "little")
    write_atomically(path, [bytes(head), *parts[1:]])


def _header(size: int, flags: int) -> bytes:
    return _HEADER.pack(MAGIC, FORMAT_VERSION, flags, size, 0, _BYTE_ORDER, bytes(28))


def _checksum(parts: Sequence[bytes | memoryview]) -> int:
    """Hash a whole file except the checksum itself; the header is within the first part."""
    first = memoryview(parts[0])
    digest = xxhash.xxh3_64(first[: _CHECKSUM.start])
    digest.update(first[_CHECKSUM.stop :])
    for part in parts[1:]:
        digest.update(part)
    return int(digest.intdigest())


def _map(path: str | Path) -> memoryview:
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError as error:
        raise SourceNotFound("no such file", source=str(path)) from error
    except ValueError as error:  # mmap refuses an empty file
        raise _corrupt(path, "the file is empty", _REBUILD) from error


def _corrupt(path: str | Path, problem: str, hint: str) -> CorruptModel:
    from pathlib import Path  # not for a file that is whole

    return CorruptModel(problem, path=Path(path), hint=hint)


class Meta(dict[str, Any]):
    """What is known about a tokenizer; added tokens, often thousands, are read when asked for."""

    def __init__(self, data: bytes) -> None:
        import json  # not to encode

        head, _, self._added = data.partition(b"\n")
        super().__init__(json.loads(head))

    def __missing__(self, key: str) -> Any:
        if key != "added_tokens":
            raise KeyError(key)
        import json

        self[key] = added = json.loads(self._added)
        return added


def unpack_source(packed: bytes) -> bytes | None:
    """Read the text of the tokenizer.json, if there is one."""
    import zlib  # not to encode

    return zlib.decompress(packed) if packed else None

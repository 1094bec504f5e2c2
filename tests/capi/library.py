"""libtokenmill through ctypes: the C interface as a program of C sees it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "capi"
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
STATUS = {
    "OK": 0,
    "BAD_ARGUMENT": 1,
    "OUT_OF_MEMORY": 2,
    "NO_SUCH_FILE": 3,
    "CORRUPT_MODEL": 4,
    "UNSUPPORTED": 5,
    "INVALID_UTF8": 6,
    "SPECIAL_IN_TEXT": 7,
    "UNKNOWN_ID": 8,
    "UNKNOWN_TOKEN": 9,
    "OUTPUT_TOO_SMALL": 10,
    "TEXT_TOO_LONG": 11,
    "BAD_DEFINITION": 12,
    "INTERNAL": 13,
}


class LoadOptions(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("tables", c_int32), ("borrow_memory", c_int32))


class EncodeOptions(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("add_special_tokens", c_int32),
        ("special_in_text", c_int32),
        ("invalid_utf8", c_int32),
        ("offsets", c_int32),
        ("threads", c_int32),
    )


class DecodeOptions(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("skip_special_tokens", c_int32),
        ("clean_up", c_int32),
        ("as_bytes", c_int32),
    )


class CText(ctypes.Structure):
    _fields_ = (("data", c_char_p), ("size", c_size_t))


class CBytes(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("size", c_size_t))


class StatusError(Exception):
    """A status other than OK, and the message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Encoding(NamedTuple):
    ids: NDArray[np.uint32]
    rows: NDArray[np.int64]
    offsets: NDArray[np.uint32] | None


def build(folder: Path = BUILD, *flags: str) -> Path:
    """Compile libtokenmill; over the core of the wheel's build where there is one, to save time."""
    cmake = shutil.which("cmake", path=ENVIRONMENT["PATH"])
    assert cmake is not None, "cmake is missing; it comes with the environment of `make test`"
    ready = sorted(ROOT.glob("build/cp*/libtokenmill_core.a"), key=lambda p: p.stat().st_mtime)
    core = [f"-DTOKENMILL_CORE={ready[-1]}"] if ready and not flags else []
    ninja = ["-G", "Ninja"] if shutil.which("ninja", path=ENVIRONMENT["PATH"]) else []
    options = ["-DTOKENMILL_PYTHON=OFF", "-DTOKENMILL_C=ON", *core, *flags]
    for command in (
        [cmake, "-S", str(ROOT), "-B", str(folder), *ninja, *options],
        [cmake, "--build", str(folder), "--parallel", str(os.cpu_count()), "--target", "tokenmill"],
    ):
        done = subprocess.run(  # noqa: S603
            command, env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "libtokenmill.so"


class Library:
    """The functions, with their types; a failure raises StatusError."""

    def __init__(self, path: Path) -> None:
        self.c = c = ctypes.CDLL(str(path))
        c.tokenmill_version.restype = c_char_p
        c.tokenmill_error_message.restype = c_char_p
        c.tokenmill_status_name.restype = c_char_p
        c.tokenmill_target.restype = c_char_p
        c.tokenmill_describe.restype = c_void_p
        c.tokenmill_vocab_size.restype = c_size_t
        c.tokenmill_special_ids.restype = POINTER(c_uint32)
        c.tokenmill_encoding_ids.restype = POINTER(c_uint32)
        c.tokenmill_encoding_rows.restype = POINTER(c_int64)
        c.tokenmill_encoding_offsets.restype = POINTER(c_uint32)

    def check(self, status: int) -> None:
        if status != 0:
            raise StatusError(status, self.message())

    def message(self) -> str:
        text: bytes = self.c.tokenmill_error_message()
        return text.decode()

    def load(self, path: Path | str, tables: int = 0) -> CTokenizer:
        handle = c_void_p()
        options = LoadOptions(ctypes.sizeof(LoadOptions), tables, 0)
        name = os.fsencode(path)
        self.check(self.c.tokenmill_load(name, byref(options), byref(handle)))
        return CTokenizer(self, handle)

    def load_memory(self, data: bytes) -> CTokenizer:
        handle = c_void_p()
        self.check(self.c.tokenmill_load_memory(data, c_size_t(len(data)), None, byref(handle)))
        return CTokenizer(self, handle)


class CTokenizer:
    """One tokenizer; freed with this object."""

    def __init__(self, library: Library, handle: c_void_p) -> None:
        self.library = library
        self.c = library.c
        self.handle = handle

    def __del__(self) -> None:
        self.c.tokenmill_free(self.handle)

    def encode(self, text: bytes, **options: int) -> Encoding:
        out = c_void_p()
        size = c_size_t(len(text))
        given = encode_options(**options)
        self.library.check(
            self.c.tokenmill_encode(self.handle, text, size, byref(given), byref(out))
        )
        return self._taken(out)

    def encode_batch(self, texts: Sequence[bytes], **options: int) -> Encoding:
        out = c_void_p()
        array = (CText * len(texts))(*[CText(text, len(text)) for text in texts])
        given = encode_options(**options)
        count = c_size_t(len(texts))
        self.library.check(
            self.c.tokenmill_encode_batch(self.handle, array, count, byref(given), byref(out))
        )
        return self._taken(out)

    def encode_into(self, text: bytes, capacity: int, **options: int) -> list[int]:
        ids = (c_uint32 * capacity)()
        count = c_size_t()
        given = encode_options(**options)
        status = self.c.tokenmill_encode_into(
            self.handle, text, c_size_t(len(text)), byref(given), ids, c_size_t(capacity),
            byref(count),
        )  # fmt: skip
        self.library.check(status)
        return list(ids[: count.value])

    def count(self, text: bytes, limit: int = -1, **options: int) -> int:
        count = c_size_t()
        given = encode_options(**options)
        status = self.c.tokenmill_count(
            self.handle, text, c_size_t(len(text)), byref(given), c_size_t(limit), byref(count)
        )
        self.library.check(status)
        return count.value

    def decode(self, ids: Sequence[int] | NDArray[Any], **options: int) -> bytes:
        out = CBytes()
        array, count = id_array(ids)
        given = decode_options(**options)
        self.library.check(
            self.c.tokenmill_decode(self.handle, array, count, byref(given), byref(out))
        )
        return self._given(out)

    def stream(self, **options: int) -> CStream:
        out = c_void_p()
        given = decode_options(**options)
        self.library.check(self.c.tokenmill_stream_new(self.handle, byref(given), byref(out)))
        return CStream(self, out)

    def token_to_id(self, token: str) -> int:
        out = c_uint32()
        data = token.encode("utf-8", "surrogatepass")
        self.library.check(
            self.c.tokenmill_token_to_id(self.handle, data, c_size_t(len(data)), byref(out))
        )
        return out.value

    def id_to_token(self, token_id: int) -> str:
        out = CBytes()
        status = self.c.tokenmill_id_to_token(self.handle, c_uint32(token_id), byref(out))
        self.library.check(status)
        return self._given(out).decode()

    def id_to_bytes(self, token_id: int) -> bytes:
        out = CBytes()
        status = self.c.tokenmill_id_to_bytes(self.handle, c_uint32(token_id), byref(out))
        self.library.check(status)
        return self._given(out)

    def special_ids(self) -> list[int]:
        count = c_size_t()
        ids = self.c.tokenmill_special_ids(self.handle, byref(count))
        return list(ids[: count.value])

    def vocab_size(self) -> int:
        return int(self.c.tokenmill_vocab_size(self.handle))

    def _given(self, out: CBytes) -> bytes:
        data = ctypes.string_at(out.data, out.size)
        self.c.tokenmill_bytes_free(byref(out))
        return data

    def _taken(self, out: c_void_p) -> Encoding:
        count = c_size_t()
        ids = copied(self.c.tokenmill_encoding_ids(out, byref(count)), count, np.uint32)
        rows = copied(self.c.tokenmill_encoding_rows(out, byref(count)), count, np.int64)
        pointer = self.c.tokenmill_encoding_offsets(out, byref(count))
        has_offsets = bool(pointer) or count.value
        offsets = copied(pointer, count, np.uint32).reshape(-1, 2) if has_offsets else None
        self.c.tokenmill_encoding_free(out)
        return Encoding(ids, rows, offsets)


class CStream:
    """One decoding in pieces; keeps its tokenizer alive."""

    def __init__(self, tokenizer: CTokenizer, handle: c_void_p) -> None:
        self.tokenizer = tokenizer
        self.handle = handle

    def __del__(self) -> None:
        self.tokenizer.c.tokenmill_stream_free(self.handle)

    def push(self, *ids: int) -> str:
        array, count = id_array(ids)
        return self._text(self.tokenizer.c.tokenmill_stream_push, array, count)

    def finish(self) -> str:
        return self._text(self.tokenizer.c.tokenmill_stream_finish)

    def _text(self, call: Any, *arguments: Any) -> str:
        text, size = c_void_p(), c_size_t()
        self.tokenizer.library.check(call(self.handle, *arguments, byref(text), byref(size)))
        return ctypes.string_at(text, size.value).decode()


def encode_options(
    *, add_special_tokens: int = 0, special: int = 0, invalid: int = 0, offsets: int = 0,
    threads: int = 1,
) -> EncodeOptions:  # fmt: skip
    size = ctypes.sizeof(EncodeOptions)
    return EncodeOptions(size, add_special_tokens, special, invalid, offsets, threads)


def decode_options(
    *, skip_special_tokens: int = 0, clean_up: int = 0, as_bytes: int = 0
) -> DecodeOptions:
    size = ctypes.sizeof(DecodeOptions)
    return DecodeOptions(size, skip_special_tokens, clean_up, as_bytes)


def id_array(ids: Sequence[int] | NDArray[Any]) -> tuple[Any, c_size_t]:
    array = np.ascontiguousarray(ids, dtype=np.uint32)
    # Not data_as: that pointer alone would not keep the array.
    return (c_uint32 * len(array)).from_buffer_copy(array.tobytes()), c_size_t(len(array))


def copied(pointer: Any, count: c_size_t, dtype: type[Any]) -> NDArray[Any]:
    if count.value == 0:
        return np.empty(0, dtype=dtype)
    return np.ctypeslib.as_array(pointer, (count.value,)).astype(dtype)


def compiler(name: str = "CC", fallback: str = "cc") -> str:
    found = shutil.which(os.environ.get(name, fallback))
    if found is None:
        pytest.skip(f"no C compiler; hint: apt-get install gcc, or set {name}")
    return found

"""`torch`: a dict of tensors in PyTorch's zip container, written and mapped without PyTorch.

The container is a zip file of stored entries: the raw numbers of each tensor, and a pickle that
says how the tensors are made of them. `torch.load(path, weights_only=True, mmap=True)` reads it.
"""

from __future__ import annotations

import pickle
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, IdRange, file_size, map_ids
from tokenmill._write.format import Extras, check_row_length, check_signed
from tokenmill._write.stream import FileStream
from tokenmill._write.writer import ShardWriter, cast, filled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from tokenmill._pack.rows import Rows, ShardShape

ROOT = "shard"
ALIGNMENT = 64
LOCAL_HEAD = struct.Struct("<4s5H3I2H")
PADDING_FIELD = b"FB"  # the extra field that PyTorch aligns with
STORAGES = {"int32": b"IntStorage", "int64": b"LongStorage"}
ZIP64 = 20  # bytes that the sizes of large entries take
LARGE = 1 << 31
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can say


class Torch(BodyFormat):
    """`shard-00000.pt`: input_ids int32 [rows, context], seq_lengths int32, row_pieces int64."""

    name = "torch"
    fixed_rows = True
    suffixes = (".pt",)

    def stored_dtype(self, dtype: str) -> np.dtype[Any]:
        """Store int32, which an embedding takes as it is."""
        del dtype
        return np.dtype("<i4")

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse what int32 cannot hold: ids, and lengths of rows."""
        super().check(shape, max_id)
        check_signed(self.name, max_id)
        check_row_length(self.name, shape.row_lengths)

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return what writes such a shard."""
        del shape
        return _TorchWriter

    def map_ids(
        self, folder: Path, number: int, *, dtype: str, split: str = ""
    ) -> NDArray[Any] | None:
        """Map the ids into memory."""
        path = folder / self.file_names(number, split)[0]
        file_size(path)
        try:
            with zipfile.ZipFile(path) as container, path.open("rb") as file:
                entry = container.getinfo(f"{ROOT}/data/0")
                file.seek(entry.header_offset)
                *_, name, extra = LOCAL_HEAD.unpack(file.read(LOCAL_HEAD.size))
        except (zipfile.BadZipFile, OSError, NotImplementedError, KeyError, struct.error) as error:
            raise CorruptShard(f"no container of tensors: {error}", path=path) from error
        begin = entry.header_offset + LOCAL_HEAD.size + name + extra
        run = IdRange(self.stored_dtype(dtype), begin, entry.file_size // 4)
        return map_ids(path, run, whole=False)


class _TorchWriter(ShardWriter):
    """Streams the ids into the container; what describes them comes last."""

    def __init__(
        self,
        form: Torch,
        folder: Path,
        number: int,
        shape: ShardShape,
        split: str,
        *,
        extras: Extras,
    ) -> None:
        super().__init__(form, folder, number, shape, split, extras=extras)
        self._stream = FileStream(self._file)
        self._zip = zipfile.ZipFile(self._stream, "w")
        self._lengths: list[NDArray[np.int64]] = []
        self._pieces: list[NDArray[np.int64]] = []
        self._entry = self._open("data/0", form.stored_ids(shape) * 4)

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        context = self._shape.context_length or 0
        self.padding += context * len(lengths) - len(rows.ids)
        for run in filled(rows.ids, lengths, context, self._shape.pad_id):
            for part in cast(run, np.dtype("<i4")):
                self._entry.write(part)
        self._lengths.append(rows.pieces.lengths)
        self._pieces.append(np.diff(rows.pieces.row_pieces))

    def _close(self) -> None:
        self._entry.close()
        none = [np.zeros(0, np.int64)]
        lengths = np.concatenate(self._lengths + none).astype("<i4")
        borders = np.cumsum(np.concatenate([np.zeros(1, np.int64), *self._pieces]), dtype="<i8")
        self._put("data/1", lengths.tobytes())
        self._put("data/2", borders.tobytes())
        matrix = (self._shape.rows, self._shape.context_length or 0)
        tensors = [
            ("input_ids", "int32", matrix),
            ("seq_lengths", "int32", lengths.shape),
            ("row_pieces", "int64", borders.shape),
        ]
        self._put("data.pkl", _pickle(tensors))
        self._put("byteorder", b"little")
        self._put("version", b"3\n")
        self._zip.close()

    def discard(self) -> None:
        self._stream.stop()
        self._entry.close()
        self._zip.close()
        super().discard()

    def _put(self, name: str, data: bytes) -> None:
        with self._open(name, len(data)) as entry:
            entry.write(data)

    def _open(self, name: str, size: int) -> Any:  # a private class of zipfile
        entry = zipfile.ZipInfo(f"{ROOT}/{name}", EPOCH)
        large = size >= LARGE
        begin = self._file.size + LOCAL_HEAD.size + len(entry.filename) + 4 + ZIP64 * large
        room = -begin % ALIGNMENT
        entry.extra = PADDING_FIELD + struct.pack("<H", room) + bytes(room)
        return self._zip.open(entry, "w", force_zip64=large)


def _pickle(tensors: list[tuple[str, str, tuple[int, ...]]]) -> bytes:
    """Describe a dict of tensors, tensor i made of entry data/i, in the way of torch.save."""
    parts = [pickle.PROTO, b"\x02", pickle.EMPTY_DICT, pickle.MARK]
    for number, (name, dtype, shape) in enumerate(tensors):
        parts += [_text(name), *_tensor(str(number), dtype, shape)]
    return b"".join([*parts, pickle.SETITEMS, pickle.STOP])


def _tensor(entry: str, dtype: str, shape: tuple[int, ...]) -> Iterator[bytes]:
    count = int(np.prod(shape, dtype=np.int64))
    strides = tuple(int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
    yield pickle.GLOBAL + b"torch._utils\n_rebuild_tensor_v2\n" + pickle.MARK
    yield pickle.MARK + _text("storage") + pickle.GLOBAL + b"torch\n" + STORAGES[dtype] + b"\n"
    yield _text(entry) + _text("cpu") + _number(count) + pickle.TUPLE + pickle.BINPERSID
    yield _number(0)
    for numbers in (shape, strides):
        yield pickle.MARK + b"".join(map(_number, numbers)) + pickle.TUPLE
    yield pickle.NEWFALSE  # requires_grad
    yield pickle.GLOBAL + b"collections\nOrderedDict\n" + pickle.EMPTY_TUPLE + pickle.REDUCE
    yield pickle.TUPLE + pickle.REDUCE


def _text(text: str) -> bytes:
    data = text.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def _number(number: int) -> bytes:
    data = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    return pickle.LONG1 + bytes([len(data)]) + data

"""`torch` and `torch-chunks`: tensors in PyTorch's zip container, without importing PyTorch.

The container is a zip file of stored entries: the raw numbers of each tensor, and a pickle that
describes how to build the tensors from them. `torch.load(path, weights_only=True, mmap=True)` reads
it. `torch` stores a dict of tensors, `torch-chunks` one bare tensor.
"""

from __future__ import annotations

import pickle
import struct
import zipfile
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tokenmill._errors import CorruptShard
from tokenmill._write.body import BodyFormat, IdRange, file_size, map_ids
from tokenmill._write.format import Extras, check_row_length, check_signed, in_split
from tokenmill._write.stream import FileStream
from tokenmill._write.writer import ShardWriter, cast, filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can store


class _TensorFormat(BodyFormat):
    """Ids as the first tensor of a container."""

    fixed_rows = True
    suffixes = (".pt",)
    tensor_dtype: ClassVar[str]

    def stored_dtype(self, dtype: str) -> np.dtype[Any]:
        """Store the tensor's own type, whatever the ids need."""
        del dtype
        return np.dtype(self.tensor_dtype)

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
            raise CorruptShard(f"not a container of tensors: {error}", path=path) from error
        begin = entry.header_offset + LOCAL_HEAD.size + name + extra
        stored = self.stored_dtype(dtype)
        run = IdRange(stored, begin, entry.file_size // stored.itemsize)
        return map_ids(path, run, whole=False)


class Torch(_TensorFormat):
    """`shard-00000.pt`: input_ids int32 [rows, context], seq_lengths int32, row_pieces int64."""

    name = "torch"
    tensor_dtype = "<i4"  # an embedding takes it without a cast

    def check(self, shape: ShardShape, max_id: int | None = None) -> None:
        """Refuse what int32 cannot hold: ids, and lengths of rows."""
        super().check(shape, max_id)
        check_signed(self.name, max_id)
        check_row_length(self.name, shape.row_lengths)

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""
        del shape
        return _TorchWriter


class TorchChunks(_TensorFormat):
    """`chunk_000000.pt`: one int64 tensor [rows, context]; a folder for each split.

    If shards are limited to one row, the tensor is [context], as in scripts that save one sequence
    per file.
    """

    name = "torch-chunks"
    tensor_dtype = "<i8"

    def file_names(self, shard: int, split: str = "") -> tuple[str, ...]:
        """Return the name of the chunk."""
        return (in_split(split, f"chunk_{shard:06d}.pt"),)

    def writer_of(self, shape: ShardShape) -> type[ShardWriter]:
        """Return the writer of such a shard."""
        del shape
        return _ChunkWriter


class _ContainerWriter(ShardWriter):
    """Streams the ids into the container; what describes them comes last."""

    def __init__(
        self,
        form: _TensorFormat,
        folder: Path,
        number: int,
        shape: ShardShape,
        split: str,
        *,
        extras: Extras,
    ) -> None:
        super().__init__(form, folder, number, shape, split, extras=extras)
        self._dtype = form.stored_dtype(shape.dtype)
        self._stream = FileStream(self._file)
        self._zip = zipfile.ZipFile(self._stream, "w")
        self._entry = self._open_entry("data/0", form.stored_ids(shape) * self._dtype.itemsize)

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        context = self._shape.context_length or 0
        self.padding += context * len(lengths) - len(rows.ids)
        for run in filled(rows.ids, lengths, context, self._shape.pad_id):
            for part in cast(run, self._dtype):
                self._entry.write(part)

    def _close(self) -> None:
        self._entry.close()
        self._put("data.pkl", self._describe())
        self._put("byteorder", b"little")
        self._put("version", b"3\n")
        self._zip.close()

    @abstractmethod
    def _describe(self) -> bytes:
        """Write the other tensors, and return the pickle that builds the object from all."""

    def discard(self) -> None:
        self._stream.stop()
        self._entry.close()
        self._zip.close()
        super().discard()

    def _put(self, name: str, data: bytes) -> None:
        with self._open_entry(name, len(data)) as entry:
            entry.write(data)

    def _open_entry(self, name: str, size: int) -> Any:  # a private class of zipfile
        entry = zipfile.ZipInfo(f"{ROOT}/{name}", EPOCH)
        large = size >= LARGE
        begin = self._file.size + LOCAL_HEAD.size + len(entry.filename) + 4 + ZIP64 * large
        room = -begin % ALIGNMENT
        entry.extra = PADDING_FIELD + struct.pack("<H", room) + bytes(room)
        return self._zip.open(entry, "w", force_zip64=large)


class _TorchWriter(_ContainerWriter):
    """Writes the lengths of pieces, and the pieces of rows, as two more tensors."""

    def __init__(self, *args: Any, extras: Extras) -> None:  # of _ContainerWriter
        super().__init__(*args, extras=extras)
        self._lengths: list[NDArray[np.int64]] = []
        self._pieces: list[NDArray[np.int64]] = []

    def _append(self, rows: Rows, lengths: NDArray[np.int64]) -> None:
        super()._append(rows, lengths)
        self._lengths.append(rows.pieces.lengths)
        self._pieces.append(np.diff(rows.pieces.row_pieces))

    def _describe(self) -> bytes:
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
        return _pickled_dict(tensors)


class _ChunkWriter(_ContainerWriter):
    """Writes nothing but the ids."""

    def _describe(self) -> bytes:
        context = self._shape.context_length or 0
        is_one_row = self._extras.single_rows and self._shape.rows == 1
        shape = (context,) if is_one_row else (self._shape.rows, context)
        return _pickled(_tensor("0", "int64", shape))


def _pickled_dict(tensors: list[tuple[str, str, tuple[int, ...]]]) -> bytes:
    """Describe a dict of tensors, tensor i made of entry data/i, like torch.save."""
    items: list[bytes] = []
    for number, (name, dtype, shape) in enumerate(tensors):
        items += [_text(name), *_tensor(str(number), dtype, shape)]
    return _pickled([pickle.EMPTY_DICT, pickle.MARK, *items, pickle.SETITEMS])


def _pickled(parts: Iterable[bytes]) -> bytes:
    return b"".join([pickle.PROTO, b"\x02", *parts, pickle.STOP])


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

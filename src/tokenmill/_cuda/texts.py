"""Texts of callers -> text that lies back to back, and the offsets of its documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._core import refuse_non_texts
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import DeviceBackend

_NO_BYTES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class FlatTexts:
    """Documents back to back: document `i` is `data[offsets[i]:offsets[i + 1]]`, UTF-8.

    `data` is bytes, a numpy array of uint8 (pinned memory is copied straight to the device), or an
    array of uint8 on the device (CuPy, torch). `offsets` are rising whole numbers.
    """

    data: Any
    offsets: Any


@dataclass(frozen=True)
class TextPart:
    """Documents of a call that lie back to back, from number `first` of the result on.

    `data` is on the host, or on the device if `on_device`. `originals` are documents that UTF-8
    cannot hold: their text is empty here. `skipped` documents of the caller come before the result.
    """

    first: int
    data: Any
    offsets: NDArray[np.int64]
    on_device: bool = False
    originals: Mapping[int, object] = field(default_factory=dict)
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.offsets[-1] - self.offsets[0])

    def text(self, backend: DeviceBackend, document: int) -> object:
        """Return a document for the CPU engine."""
        if document in self.originals:
            return self.originals[document]
        begin, end = self.offsets[document : document + 2]
        data = self.data[begin:end]
        return bytes(backend.to_host(data) if self.on_device else data)

    def batches(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of documents of at most `most` bytes, or of one longer document."""
        begin, last = 0, len(self)
        while begin < last:
            limit = self.offsets[begin] + most
            end = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            end = min(max(end, begin + 1), last)
            yield begin, end
            begin = end


def slice_of(part: TextPart, begin: int, end: int, first: int) -> TextPart:
    """Return some documents of a part, as documents `first` and up of another result."""
    originals = {d - begin: text for d, text in part.originals.items() if begin <= d < end}
    return replace(
        part,
        first=first,
        offsets=part.offsets[begin : end + 1],
        originals=originals,
        skipped=part.skipped + part.first + begin - first,
    )


def parts_of(texts: Any, backend: DeviceBackend) -> list[TextPart]:
    """Bring texts into parts, without a copy where they lie back to back already."""
    if isinstance(texts, FlatTexts):
        return [_of_flat(texts, backend)]
    try:
        if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
            return _of_arrow(texts)
        return [_of_sequence(texts)]
    except (TypeError, ValueError, BufferError):
        refuse_non_texts(texts)  # TextTypeError: which document, and what it is
        raise


def _of_flat(texts: FlatTexts, backend: DeviceBackend) -> TextPart:
    on_device = backend.is_own(texts.data)
    data = backend.adopt(texts.data) if on_device else _bytes_of(texts.data)
    if data.dtype != np.uint8:  # an array of another library
        raise _not_flat(f"bytes, got {data.dtype}")
    offsets = texts.offsets
    if backend.is_own(offsets):
        offsets = backend.to_host(backend.adopt(offsets))
    return TextPart(0, data, _offsets_of(offsets, data.size), on_device)


def _bytes_of(data: Any) -> NDArray[np.uint8]:
    """Return host memory as bytes; an array of wider items is refused."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError) as error:
        raise _not_flat(f"bytes or an array of uint8, got {type(data).__name__}") from error
    if view.itemsize != 1 or not view.c_contiguous:
        gaps = "" if view.c_contiguous else " with gaps"
        raise _not_flat(f"bytes without gaps, got items of {view.itemsize} bytes{gaps}")
    return np.frombuffer(view, np.uint8)


def _offsets_of(offsets: Any, size: int) -> NDArray[np.int64]:
    """Return checked offsets of documents in `size` bytes."""
    found = np.asarray(offsets)
    if found.ndim != 1 or not found.size or found.dtype.kind not in "iu":
        raise _not_flat(f"a row of whole numbers as offsets, got {offsets!r:.60}")
    found = np.ascontiguousarray(found, dtype=np.int64)
    if found[0] < 0 or found[-1] > size or (np.diff(found) < 0).any():
        raise _not_flat(f"offsets that rise up to {size}, got {found[:3]}...")
    return found


def _not_flat(problem: str) -> OptionError:
    return OptionError(
        f"texts: expected {problem}",
        hint="FlatTexts(data, offsets): document i is data[offsets[i]:offsets[i + 1]]",
    )


def _of_sequence(texts: Sequence[object]) -> TextPart:
    pieces, originals = [], {}
    for number, text in enumerate(texts):
        try:
            piece = text.encode() if isinstance(text, str) else memoryview(text)  # type: ignore[arg-type]
        except UnicodeEncodeError:
            piece = b""
            originals[number] = text
        pieces.append(piece)
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([memoryview(piece).nbytes for piece in pieces], out=offsets[1:])
    data = b"".join(pieces)  # BufferError for a view with gaps
    return TextPart(0, np.frombuffer(data, np.uint8), offsets, originals=originals)


def _of_arrow(texts: Any) -> list[TextPart]:
    import pyarrow as pa  # import tokenmill stays light

    is_array = hasattr(texts, "__arrow_c_array__")
    parts, first = [], 0
    try:
        for chunk in [pa.array(texts)] if is_array else pa.chunked_array(texts).chunks:
            parts.append(_of_chunk(pa, chunk, first))
            first += len(chunk)
    except pa.ArrowException as error:
        raise TypeError(str(error)) from error
    return parts


def _of_chunk(pa: Any, chunk: Any, first: int) -> TextPart:
    wide = {pa.large_string(), pa.large_binary()}
    narrow = {pa.string(), pa.binary()}
    if chunk.null_count:
        raise TypeError("expected text, got null")
    if chunk.type in (pa.string_view(), pa.binary_view()):
        chunk = chunk.cast(pa.large_binary())
    if chunk.type not in wide | narrow:
        raise TypeError(f"expected an Arrow array of strings, got {chunk.type}")
    dtype = np.dtype(np.int64 if chunk.type in wide else np.int32)
    _, offsets, data = chunk.buffers()
    if offsets is None or len(chunk) == 0:
        return TextPart(first, _NO_BYTES, np.zeros(len(chunk) + 1, np.int64))
    begins = np.frombuffer(offsets, dtype, len(chunk) + 1, chunk.offset * dtype.itemsize)
    text = _NO_BYTES if data is None else np.frombuffer(data, np.uint8)
    return TextPart(first, text, begins.astype(np.int64, copy=False))

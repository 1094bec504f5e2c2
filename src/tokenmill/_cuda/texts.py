"""What callers bring -> text that lies back to back, and where each document begins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.backend import Backend

_NO_BYTES = np.empty(0, np.uint8)


@dataclass(frozen=True)
class FlatTexts:
    """Documents back to back: document `i` is `data[offsets[i]:offsets[i + 1]]`, UTF-8.

    `data` is bytes, a numpy array of uint8 (pinned memory is copied straight to the device), or an
    array of uint8 on the device (CuPy, torch). `offsets` are whole numbers that rise.
    """

    data: Any
    offsets: Any


@dataclass(frozen=True)
class Part:
    """Documents of a call that lie back to back, from number `first` of the result on.

    `data` belongs to the host, or to the device if `on_device`. `originals` are documents that have
    no UTF-8: their text is empty here. `skipped` documents of the caller come before the result.
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

    def text(self, backend: Backend, document: int) -> object:
        """Return a document as the CPU engine takes it."""
        if document in self.originals:
            return self.originals[document]
        begin, end = self.offsets[document : document + 2]
        data = self.data[begin:end]
        return bytes(backend.to_host(data) if self.on_device else data)

    def batches(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of documents of at most so many bytes, or of one that has more."""
        begin, last = 0, len(self)
        while begin < last:
            limit = self.offsets[begin] + most
            end = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            end = min(max(end, begin + 1), last)
            yield begin, end
            begin = end


def slice_of(part: Part, begin: int, end: int, first: int) -> Part:
    """Return some documents of a part, as those from number `first` of another result on."""
    originals = {d - begin: text for d, text in part.originals.items() if begin <= d < end}
    return replace(
        part,
        first=first,
        offsets=part.offsets[begin : end + 1],
        originals=originals,
        skipped=part.skipped + part.first + begin - first,
    )


class NotTexts(Exception):  # noqa: N818 -- never seen by callers
    """Something among the texts is none; the CPU engine says what in its own words."""


def parts_of(texts: Any, backend: Backend) -> list[Part]:
    """Bring texts into parts without a copy where they lie back to back already."""
    if isinstance(texts, FlatTexts):
        return [_of_flat(texts, backend)]
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
        return _of_arrow(texts)
    return [_of_sequence(texts)]


def _of_flat(texts: FlatTexts, backend: Backend) -> Part:
    on_device = backend.is_own(texts.data)
    data = backend.adopt(texts.data) if on_device else _bytes_of(texts.data)
    if data.dtype != np.uint8:  # another library's array, taken as it is
        raise _not_flat(f"bytes, got {data.dtype}")
    offsets = texts.offsets
    if backend.is_own(offsets):
        offsets = backend.to_host(backend.adopt(offsets))
    return Part(0, data, _offsets_of(offsets, data.size), on_device)


def _bytes_of(data: Any) -> NDArray[np.uint8]:
    """Return memory of the host as bytes; an array of anything wider is a mistake."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError) as error:
        raise _not_flat(f"bytes or an array of uint8, got {type(data).__name__}") from error
    if view.itemsize != 1 or not view.c_contiguous:
        gaps = "" if view.c_contiguous else " with gaps"
        raise _not_flat(f"bytes without gaps, got items of {view.itemsize} bytes{gaps}")
    return np.frombuffer(view, np.uint8)


def _offsets_of(offsets: Any, size: int) -> NDArray[np.int64]:
    """Return where documents begin in `size` bytes."""
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


def _of_sequence(texts: Sequence[object]) -> Part:
    pieces, originals = [], {}
    for number, text in enumerate(texts):
        try:
            piece = text.encode() if isinstance(text, str) else memoryview(text)  # type: ignore[arg-type]
        except UnicodeEncodeError:
            piece = b""
            originals[number] = text
        except TypeError as error:
            raise NotTexts from error
        pieces.append(piece)
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([memoryview(piece).nbytes for piece in pieces], out=offsets[1:])
    try:
        data = b"".join(pieces)
    except (BufferError, TypeError) as error:  # not contiguous
        raise NotTexts from error
    return Part(0, np.frombuffer(data, np.uint8), offsets, originals=originals)


def _of_arrow(texts: Any) -> list[Part]:
    import pyarrow as pa  # import tokenmill stays light

    try:
        is_array = hasattr(texts, "__arrow_c_array__")
        chunks = [pa.array(texts)] if is_array else pa.chunked_array(texts).chunks
        parts, first = [], 0
        for chunk in chunks:
            parts.append(_of_chunk(pa, chunk, first))
            first += len(chunk)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise NotTexts from error
    return parts


def _of_chunk(pa: Any, chunk: Any, first: int) -> Part:
    wide = {pa.large_string(), pa.large_binary()}
    narrow = {pa.string(), pa.binary()}
    if chunk.null_count:
        raise NotTexts
    if chunk.type in (pa.string_view(), pa.binary_view()):
        chunk = chunk.cast(pa.large_binary())
    if chunk.type not in wide | narrow:
        raise NotTexts
    dtype = np.dtype(np.int64 if chunk.type in wide else np.int32)
    _, offsets, data = chunk.buffers()
    if offsets is None or len(chunk) == 0:
        return Part(first, _NO_BYTES, np.zeros(len(chunk) + 1, np.int64))
    begins = np.frombuffer(offsets, dtype, len(chunk) + 1, chunk.offset * dtype.itemsize)
    text = _NO_BYTES if data is None else np.frombuffer(data, np.uint8)
    return Part(first, text, begins.astype(np.int64, copy=False))

"""Texts of callers -> where they are, and their offsets as UTF-8, back to back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._core import TextList, pick_ranges
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._core import PickedTexts
    from tokenmill._cuda.protocols import DeviceBackend

_NO_BYTES = np.empty(0, np.uint8)
_GAP = 128 << 10  # bytes on a device: copying them takes as long as another copy


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
    """Documents of a call, in order, from number `first` of the result on.

    As UTF-8, document `i` is the bytes `offsets[i]` to `offsets[i + 1]`: of `data`, on the host or,
    if `on_device`, on the device; or of `texts`, which are anywhere on the host and are gathered
    batch by batch (there, document 0 of the part is number `shift`). `skipped` documents of the
    caller come before the result.
    """

    first: int
    data: Any
    offsets: NDArray[np.int64]
    on_device: bool = False
    texts: TextList | None = None
    shift: int = 0
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.offsets[-1] - self.offsets[0])

    def pick(self, backend: DeviceBackend, numbers: NDArray[np.int64]) -> PickedTexts:
        """Return documents for the CPU engine."""
        if self.texts is not None:
            return self.texts.pick(numbers + self.shift)
        begins, ends = self.offsets[numbers], self.offsets[numbers + 1]
        if not self.on_device:
            return pick_ranges(self.data, begins, ends)
        data, begins, ends = _downloaded(backend, self.data, begins, ends)
        return pick_ranges(data, begins, ends)

    def end_of(self, begin: int, most: int) -> int:
        """Return where documents from `begin` on have at most `most` bytes, or one longer."""
        limit = self.offsets[begin] + most
        end = int(np.searchsorted(self.offsets, limit, side="right")) - 1
        return min(max(end, begin + 1), len(self))

    def batches(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of documents of at most `most` bytes, or of one longer document."""
        begin = 0
        while begin < len(self):
            end = self.end_of(begin, most)
            yield begin, end
            begin = end


def _downloaded(
    backend: DeviceBackend, data: Any, begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Bring ranges of device memory to the host, in as few copies as are worth it."""
    starts = np.flatnonzero(begins[1:] - ends[:-1] > _GAP) + 1
    groups = np.split(np.arange(begins.size), starts)
    pieces, moved, at = [], np.empty_like(begins), 0
    for group in groups:
        low, high = begins[group[0]], ends[group[-1]]
        pieces.append(backend.to_host(data[low:high]))
        moved[group] = begins[group] - low + at
        at += int(high - low)
    return np.concatenate(pieces), moved, moved + (ends - begins)


def slice_of(part: TextPart, begin: int, end: int, first: int) -> TextPart:
    """Return some documents of a part, as documents `first` and up of another result."""
    return replace(
        part,
        first=first,
        offsets=part.offsets[begin : end + 1],
        shift=part.shift + begin,
        skipped=part.skipped + part.first + begin - first,
    )


def parts_of(texts: Any, backend: DeviceBackend, threads: int = 1) -> list[TextPart]:
    """Bring texts into parts; none are copied. Long lists are measured by several threads."""
    if isinstance(texts, FlatTexts):
        return [_of_flat(texts, backend)]
    return host_parts(texts, threads)


def host_parts(texts: Any, threads: int = 1) -> list[TextPart]:
    """Bring lists and Arrow arrays into parts."""
    if hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__"):
        found = _of_arrow(texts)
        if found is not None:
            return found
    listed = TextList(texts, threads)  # TextTypeError: which document, and what it is
    return [TextPart(0, None, listed.offsets, texts=listed)]


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


def _of_arrow(texts: Any) -> list[TextPart] | None:
    """Return the chunks of an array whose texts lie back to back; None for any other."""
    try:
        import pyarrow as pa  # import tokenmill stays light
    except ImportError:
        return None
    is_array = hasattr(texts, "__arrow_c_array__")
    parts: list[TextPart] = []
    first = 0
    try:
        chunks = [pa.array(texts)] if is_array else pa.chunked_array(texts).chunks
    except (pa.ArrowException, TypeError, ValueError):
        return None
    for chunk in chunks:
        part = _of_chunk(pa, chunk, first)
        if part is None:
            return None
        parts.append(part)
        first += len(chunk)
    return parts


def _of_chunk(pa: Any, chunk: Any, first: int) -> TextPart | None:
    is_wide = chunk.type in (pa.large_string(), pa.large_binary())
    if chunk.null_count or not (is_wide or chunk.type in (pa.string(), pa.binary())):
        return None
    dtype = np.dtype(np.int64 if is_wide else np.int32)
    _, offsets, data = chunk.buffers()
    if offsets is None or len(chunk) == 0:
        return TextPart(first, _NO_BYTES, np.zeros(len(chunk) + 1, np.int64))
    begins = np.frombuffer(offsets, dtype, len(chunk) + 1, chunk.offset * dtype.itemsize)
    text = _NO_BYTES if data is None else np.frombuffer(data, np.uint8)
    return TextPart(first, text, begins.astype(np.int64, copy=False))

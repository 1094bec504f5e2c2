"""Lane: one slot of a ring and the pinned memory that its text and its ids pass through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.engine import power_of_two
from tokenmill._cuda.fallback import NO_DOCUMENTS
from tokenmill._cuda.texts import TextPart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._core import Crew
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.protocols import Mark
    from tokenmill._cuda.sinks import Chunk, Leaving
    from tokenmill._cuda.slot import Slot


class Lane:
    """A slot and its pinned memory."""

    def __init__(self, engine: DeviceEngine, size: int, documents: int) -> None:
        self._engine = engine
        self.slot: Slot = engine.slot(size, documents)
        self.doc_ids = engine.backend.pinned(self.slot.documents + 1, np.uint32)
        self.leaving: Leaving | None = None
        self.used: Mark | None = None  # after the last copy of ids out of the slot
        self._text: NDArray[np.uint8] | None = None
        self._ids: NDArray[np.uint32] | None = None

    def holds(self, size: int, documents: int) -> bool:
        """Check whether a chunk fits."""
        return size <= self.slot.size and documents <= self.slot.documents

    def ids_for(self, count: int, dtype: Any) -> NDArray[Any]:
        """Return pinned memory for ids."""
        words = count * np.dtype(dtype).itemsize // 4 + 1
        if self._ids is None or self._ids.size < words:
            self._ids = None  # frees it
            self._ids = self._engine.backend.pinned(power_of_two(words), np.uint32)
        ids: NDArray[Any] = self._ids.view(dtype)
        return ids[:count]

    def load(self, chunk: Chunk, crew: Crew) -> NDArray[np.int64]:
        """Start the copy of a chunk to the device; return its documents with lone surrogates."""
        part, begin, end = chunk.part, chunk.begin, chunk.end
        if part.on_device or (part.texts is None and self._engine.backend.is_pinned(part.data)):
            self._engine.load(self.slot, part, begin, end)
            return NO_DOCUMENTS
        if self._text is None:
            self._text = self._engine.backend.pinned(self.slot.size, np.uint8)
        offsets = part.offsets[begin : end + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        broken = NO_DOCUMENTS
        if part.texts is None:
            crew.copy(self._text, part.data[first:last])
        else:
            shift = part.shift + begin
            broken = crew.gather_texts(part.texts, shift, part.shift + end, self._text) - shift
        self._engine.load(self.slot, TextPart(0, self._text, offsets - first), 0, end - begin)
        return broken

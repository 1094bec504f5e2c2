"""Lane: one slot of a ring and the pinned memory that its text and its ids pass through."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.engine import power_of_two
from tokenmill._cuda.fallback import NO_DOCUMENTS
from tokenmill._cuda.slot import PAD
from tokenmill._cuda.texts import TextPart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._core import CopyCrew
    from tokenmill._cuda.chunks import Chunk
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.protocols import Mark
    from tokenmill._cuda.sinks import Leaving
    from tokenmill._cuda.slot import Slot


class Lane:
    """A slot and its pinned memory."""

    def __init__(self, engine: DeviceEngine, size: int, documents: int) -> None:
        self._engine = engine
        self.slot: Slot = engine.slot(size, documents)
        self.doc_ids = engine.backend.pinned(self.slot.documents + PAD, np.uint32)
        self.leaving: Leaving | None = None
        self.used: Mark | None = None  # after the last copy of ids out of the slot
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

    def owns(self, ids: NDArray[Any]) -> bool:
        """Check whether memory for ids is that of `ids_for`."""
        return self._ids is not None and np.may_share_memory(ids, self._ids)

    def begin_load(self, chunk: Chunk, crew: CopyCrew) -> bool:
        """Let the crew bring the text of a chunk into `text`; false if it need not be there."""
        part = chunk.part
        if part.on_device or (part.texts is None and self._engine.backend.is_pinned(part.data)):
            return False
        self.begin_gather(chunk, crew)
        return True

    def begin_gather(self, chunk: Chunk, crew: CopyCrew, at: int = 0) -> None:
        """Let the crew bring the text of a chunk into `text`."""
        part, begin, end = chunk.part, chunk.begin, chunk.end
        target = self.text[at:] if at else self.text
        if part.texts is None:
            crew.start_copy(target, part.data[part.offsets[begin] : part.offsets[end]])
        else:
            crew.start_gather(part.texts, part.shift + begin, part.shift + end, target)

    @staticmethod
    def end_gather(chunk: Chunk, crew: CopyCrew) -> NDArray[np.int64]:
        """Wait for the text; return the documents of the chunk with lone surrogates."""
        broken = crew.finish_copies()
        return broken - (chunk.part.shift + chunk.begin) if broken.size else NO_DOCUMENTS

    def load(self, chunk: Chunk, crew: CopyCrew, *, is_gathered: bool) -> NDArray[np.int64]:
        """Start the copy of a chunk to the device; return its documents with lone surrogates."""
        part, begin, end = chunk.part, chunk.begin, chunk.end
        if not is_gathered:
            self._engine.load(self.slot, part, begin, end)
            return NO_DOCUMENTS
        offsets = part.offsets[begin : end + 1]
        staged = TextPart(0, self.text, offsets - offsets[0])
        broken = self.end_gather(chunk, crew)
        self._engine.load(self.slot, staged, 0, end - begin)
        return broken

    @cached_property
    def text(self) -> NDArray[np.uint8]:
        """Pinned memory for the text of a chunk."""
        return self._engine.backend.pinned(self.slot.size, np.uint8)

"""PartEncoder: texts of any size -> ids, batch by batch, on the device or through host memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokenmill._calls.options import thread_count
from tokenmill._core import CopyCrew
from tokenmill._cuda.chunks import Chunk
from tokenmill._cuda.engine import LONGEST, SMALLEST
from tokenmill._cuda.pinned_pool import PinnedPool
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.ring import SLOTS, Ring
from tokenmill._cuda.short import LARGEST, MOST_DOCUMENTS, ShortWay
from tokenmill._cuda.sinks import DeviceSink, HostSink
from tokenmill._cuda.splice import EncodedSlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.sinks import EncodeCall
    from tokenmill._cuda.slot import Slot
    from tokenmill._cuda.texts import TextPart

RING_BYTES = 16 << 20  # the most text in a chunk of the ring
COPY_THREADS = 16  # more would only wait for the memory


class PartEncoder:
    """Cuts texts into batches and encodes them with one engine. Not for several threads."""

    def __init__(self, engine: DeviceEngine, batch_bytes: int, max_memory: int | None) -> None:
        self.engine = engine
        self.longest = longest_batch(engine, max_memory)
        self.batch_bytes = min(batch_bytes, self.longest)
        self.slot: Slot | None = None
        self.ring: Ring | None = None

    def to_device(self, parts: Sequence[TextPart], call: EncodeCall) -> tuple[Any, Any]:
        """Return ids and offsets on the device."""
        sink = DeviceSink(self.engine, parts, call)
        if any(part.on_device for part in parts):
            self._in_place(parts, call, sink)
        else:
            self._ring().encode(parts, call, sink)
        return sink.result()

    def to_host(
        self, parts: Sequence[TextPart], call: EncodeCall, out: NDArray[Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return ids and offsets on the host."""
        ring = self._ring()
        sink = HostSink(self.engine, parts, call, self.crew, self.pool if out is None else out)
        ring.encode(parts, call, sink)
        return sink.result()

    def short_chunk(self, parts: Sequence[TextPart]) -> Chunk | None:
        """Return all texts as one chunk, if they are short enough for a single graph."""
        if len(parts) != 1 or parts[0].on_device:
            return None
        documents = len(parts[0])
        if not 0 < documents <= MOST_DOCUMENTS:
            return None
        chunk = Chunk(parts[0], 0, documents)
        return chunk if chunk.size <= self.short_bytes else None

    @cached_property
    def short_bytes(self) -> int:
        """The most text that goes the short way."""
        return min(LARGEST, self.batch_bytes)

    def encode_short(
        self, chunks: Sequence[Chunk], call: EncodeCall
    ) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
        """Return ids and offsets of short chunks on the host; None: encode each by itself."""
        size = documents = 0
        for chunk in chunks:
            size, documents = size + chunk.size, documents + chunk.end - chunk.begin
        return self.short.encode(self._ring().first_lane(size, documents), chunks, call)

    def encode_short_there(self, chunk: Chunk, call: EncodeCall) -> tuple[Any, Any]:
        """Return ids and offsets of a short chunk on the device."""
        lane = self._ring().first_lane(chunk.size, chunk.end - chunk.begin)
        return self.short.encode_there(lane, chunk, call)

    @cached_property
    def short(self) -> ShortWay:
        """The way of small batches of the host."""
        return ShortWay(self.engine, self.crew, self.pool)

    def _ring(self) -> Ring:
        if self.ring is None:
            chunk = min(self.batch_bytes, RING_BYTES)
            self.ring = Ring(self.engine, self.crew, chunk, self.longest)
        return self.ring

    @cached_property
    def crew(self) -> CopyCrew:
        """The threads that copy within the host."""
        return CopyCrew(min(thread_count(None), COPY_THREADS))

    @cached_property
    def pool(self) -> PinnedPool:
        """Memory for results on the host."""
        return PinnedPool(self.engine.backend)

    def _in_place(self, parts: Sequence[TextPart], call: EncodeCall, sink: DeviceSink) -> None:
        """Encode text that is on the device, in batches as large as they may be."""
        backend = self.engine.backend
        for part in parts:
            for ends in part.batches(self.batch_bytes):
                chunk = Chunk(part, *ends)
                if chunk.size > self.longest:
                    sink.take_long(chunk, call.cpu.replace_long(backend, part, chunk.begin))
                    continue
                slot = self._slot_for(chunk.size, chunk.end - chunk.begin)
                self.engine.load(slot, part, chunk.begin, chunk.end)
                self.engine.launch(slot, call.job, sink.target(chunk, is_next=True))
                outcome = self.engine.outcome(slot)
                replaced = call.cpu.replace(backend, part, chunk.begin, outcome)
                sink.take(chunk, EncodedSlot(slot, outcome, replaced), None, is_placed=True)

    def _slot_for(self, size: int, documents: int) -> Slot:
        slot = self.slot
        if slot is None or slot.size < size or slot.documents < documents:
            size = max(size, 0 if slot is None else slot.size)
            documents = max(documents, 0 if slot is None else slot.documents)
            self.slot = None  # frees its memory
            slot = self.slot = self.engine.slot(size, documents)
        return slot


def longest_batch(engine: DeviceEngine, max_memory: int | None) -> int:
    """Return the longest document that the device can take within the memory."""
    size = LONGEST
    slots = 1 + SLOTS  # that of a call, and those of a ring
    while max_memory is not None and engine.memory_for(size, slots) > max_memory:
        if size <= SMALLEST:
            least = engine.memory_for(SMALLEST, slots)
            detail = f"max_memory: expected at least {least} bytes, got {max_memory}"
            raise device_error("out_of_memory", detail)
        size >>= 1
    return size

"""PartEncoder: texts of any size -> ids, batch by batch, on the device or through host memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.engine import LONGEST, SMALLEST
from tokenmill._cuda.reasons import device_error
from tokenmill._cuda.ring import SLOTS, Ring
from tokenmill._cuda.slot import BatchOutcome, OffsetsTarget
from tokenmill._cuda.splice import EncodedSlot, splice_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.fallback import CpuFallback
    from tokenmill._cuda.slot import BatchJob, Slot
    from tokenmill._cuda.splice import SpecialIds
    from tokenmill._cuda.texts import TextPart

_RING_BYTES = 64 << 20  # the most text in a chunk of the ring


@dataclass(frozen=True)
class EncodeCall:
    """One call: how batches are encoded, the ids around documents, and the CPU for the rest."""

    job: BatchJob
    special: SpecialIds
    cpu: CpuFallback


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
        backend = self.engine.backend
        offsets = backend.zeros(sum(map(len, parts)) + 1, np.int64)
        around = (call.special.before.size, call.special.after.size)
        pieces, base = [], 0
        for part in parts:
            for begin, end in part.batches(self.batch_bytes):
                own = offsets[part.first + begin : part.first + end + 1]
                target = OffsetsTarget(own, base, *around)
                pieces.append(self._encode(part, begin, end, call, target))
                base += int(pieces[-1].size)
        if len(pieces) == 1:
            return pieces[0], offsets
        ids = backend.empty(base, call.job.dtype)
        at = 0
        for piece in pieces:
            backend.copy(ids[at : at + piece.size], piece)
            at += int(piece.size)
        return ids, offsets

    def to_host(self, parts: Sequence[TextPart], call: EncodeCall) -> tuple[Any, Any]:
        """Return ids and offsets on the host."""
        if call.special.size == 0 and not any(part.on_device for part in parts):
            return self.through_ring(parts, call, None)
        backend = self.engine.backend
        ids, offsets = self.to_device(parts, call)
        return backend.to_host(ids), backend.to_host(offsets)

    def through_ring(
        self, parts: Sequence[TextPart], call: EncodeCall, out: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return ids and offsets on the host, while copies and kernels overlap."""
        if self.ring is None:
            self.ring = Ring(self.engine, min(self.batch_bytes, _RING_BYTES), self.longest)
        return self.ring.encode(parts, call.job, call.cpu, out)

    def _encode(
        self, part: TextPart, begin: int, end: int, call: EncodeCall, target: OffsetsTarget
    ) -> Any:
        """Encode one batch, and return its ids."""
        backend = self.engine.backend
        size = int(part.offsets[end] - part.offsets[begin])
        slot = self._slot_for(min(size, self.longest), end - begin)
        if size > self.longest:
            replaced = call.cpu.replace_long(backend, part, begin)
            backend.upload(slot.doc_ids[:2], np.zeros(2, np.uint32))
            batch = EncodedSlot(slot, BatchOutcome(1, 0, None), replaced)
        else:
            self.engine.load(slot, part, begin, end)
            self.engine.launch(slot, call.job, target)
            outcome = self.engine.outcome(slot)
            batch = EncodedSlot(slot, outcome, call.cpu.replace(backend, part, begin, outcome))
        return splice_batch(backend, batch, call.special, target, call.job)

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

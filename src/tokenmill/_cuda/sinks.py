"""Where the ids of a call go, chunk by chunk: memory of the host, or of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.slot import OffsetsTarget
from tokenmill._cuda.splice import framed, splice_batch
from tokenmill._errors import OutputTooSmall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._core import CopyCrew
    from tokenmill._cuda.chunks import Chunk
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.fallback import CpuFallback, Replaced
    from tokenmill._cuda.lane import Lane
    from tokenmill._cuda.pinned_pool import PinnedPool
    from tokenmill._cuda.protocols import Mark
    from tokenmill._cuda.slot import BatchJob
    from tokenmill._cuda.splice import EncodedSlot, SpecialIds
    from tokenmill._cuda.texts import TextPart


@dataclass(frozen=True)
class EncodeCall:
    """One call: how batches are encoded, the ids around documents, and the CPU for the rest."""

    job: BatchJob
    special: SpecialIds
    cpu: CpuFallback


class DeviceSink:
    """Ids in memory of the device: a piece for each chunk, put together at the end."""

    def __init__(self, engine: DeviceEngine, parts: Sequence[TextPart], call: EncodeCall) -> None:
        self._engine, self._call = engine, call
        self._pieces: list[Any] = []
        self._used = 0
        self._around = (call.special.before.size, call.special.after.size)
        self._offsets = engine.backend.zeros(sum(map(len, parts)) + 1, np.int64)

    def target(self, chunk: Chunk, *, is_next: bool) -> OffsetsTarget | None:
        """Return where the offsets of a chunk go; None while earlier chunks are not counted."""
        if not is_next:
            return None
        return OffsetsTarget(self._offsets[chunk.places], self._used, *self._around)

    def take(self, chunk: Chunk, batch: EncodedSlot, lane: Lane | None, *, is_placed: bool) -> Mark:
        """Take an encoded chunk; the mark is after the last use of its slot."""
        backend = self._engine.backend
        target = OffsetsTarget(self._offsets[chunk.places], self._used, *self._around)
        if not is_placed and batch.replaced is None:
            self._engine.place_offsets(batch.slot, target)
        ids = splice_batch(backend, batch, self._call.special, target, self._call.job).ids
        self._add(ids)
        return backend.mark()

    def take_long(self, chunk: Chunk, replaced: Replaced) -> None:
        """Take a document that the CPU encoded."""
        backend = self._engine.backend
        ids = framed(replaced, self._call.special, self._call.job.dtype)
        ends = np.array([self._used, self._used + ids.size], np.int64)
        backend.upload(self._offsets[chunk.places], ends)
        self._add(backend.asarray(ids))

    def _add(self, ids: Any) -> None:
        self._pieces.append(ids)
        self._used += int(ids.size)

    def drain(self, lane: Lane) -> None:
        """Nothing is left to do for a lane."""

    def result(self) -> tuple[Any, Any]:
        """Return ids and offsets, for work on the current stream."""
        backend = self._engine.backend
        if len(self._pieces) == 1:
            return self._pieces[0], self._offsets
        ids = backend.empty(self._used, self._call.job.dtype)
        at = 0
        for piece in self._pieces:
            backend.copy(ids[at : at + piece.size], piece)
            at += int(piece.size)
        return ids, self._offsets


@dataclass(frozen=True)
class Leaving:
    """Ids on their way to the host: what they are copied from and to, and their place."""

    mark: Mark
    source: Any  # kept until the copy is done
    staged: NDArray[Any] | None
    place: tuple[int, int]
    chunk: Chunk | None  # whose offsets come with them


class HostSink:
    """Ids in memory of the host: that of the caller, of a pool, or our own, which grows."""

    def __init__(
        self,
        engine: DeviceEngine,
        parts: Sequence[TextPart],
        call: EncodeCall,
        crew: CopyCrew,
        memory: PinnedPool | NDArray[Any],
    ) -> None:
        self._engine, self._call, self._crew = engine, call, crew
        documents = sum(map(len, parts))
        self._size = sum(part.size for part in parts)
        self._around = call.special.size * documents
        self.offsets = np.zeros(documents + 1, np.int64)
        self.used = 0
        self._last: Mark | None = None  # after the last copy to the host so far
        self._pool = None if isinstance(memory, np.ndarray) else memory
        self.memory = memory if isinstance(memory, np.ndarray) else np.empty(0, call.job.dtype)
        # Pinned memory takes ids directly.
        self._is_direct = self._pool is None and engine.backend.is_pinned(self.memory)

    def target(self, chunk: Chunk, *, is_next: bool) -> None:
        """Return None: the host adds up offsets."""

    def take(self, chunk: Chunk, batch: EncodedSlot, lane: Lane, *, is_placed: bool) -> Mark:
        """Start the copy of a chunk to the host; the mark is after the last use of its slot."""
        backend, call = self._engine.backend, self._call
        slot, outcome = batch.slot, batch.outcome
        begins = None
        if batch.replaced is None and not call.special.size:
            source = slot.ids_of(call.job)[: outcome.id_count]
        else:
            spliced = splice_batch(backend, batch, call.special, None, call.job)
            source, begins = spliced.ids, spliced.begins
        place = self.room(int(source.size), chunk)
        if begins is not None:
            np.add(begins, place[0], out=self.offsets[chunk.places])
        else:
            backend.download(lane.doc_ids, slot.doc_ids[: outcome.documents + 1])
        staged = None if self._is_direct else lane.ids_for(source.size, source.dtype)
        backend.download(self.memory[slice(*place)] if staged is None else staged, source)
        mark = self._last = backend.mark()
        lane.leaving = Leaving(mark, source, staged, place, chunk if begins is None else None)
        return mark

    def take_long(self, chunk: Chunk, replaced: Replaced) -> None:
        """Take a document that the CPU encoded."""
        ids = framed(replaced, self._call.special, self.memory.dtype)
        place = self.room(ids.size, chunk)
        self.memory[slice(*place)] = ids
        self.offsets[chunk.places] = place

    def room(self, count: int, chunk: Chunk) -> tuple[int, int]:
        """Return the range of the next ids."""
        begin, end = self.used, self.used + count
        if end > self.memory.size:
            if self._pool is None:
                raise OutputTooSmall(
                    f"out: expected room for all ids, got {self.memory.size}, and there are more",
                    hint="one id for each byte of text is always enough",
                )
            self._grow(count, chunk, self._pool)
        self.used = end
        return begin, end

    def _grow(self, count: int, chunk: Chunk, pool: PinnedPool) -> None:
        """Make room for `count` ids of a chunk, and for those that may follow."""
        dtype = self.memory.dtype
        if not self.used:
            # A little more than if all text had as many ids as this chunk.
            likely = count * (self._size / max(chunk.size, 1)) * 1.125 + self._around + 1024
            pinned = pool.take(int(likely) * dtype.itemsize)
            if pinned is not None:
                self.memory, self._is_direct = pinned.view(dtype), True
                if count <= self.memory.size:
                    return
        if self._last is not None:
            self._last.synchronize()  # what is on its way arrives first
        # Pages that are not written cost nothing, and a byte is seldom more than one id.
        most = max(self._size + self._around, self.used + count, 2 * self.memory.size)
        grown = np.empty(most, dtype)
        grown[: self.used] = self.memory[: self.used]
        self.memory, self._is_direct = grown, False

    def drain(self, lane: Lane) -> None:
        """Wait until the ids of a lane are out."""
        leaving, lane.leaving = lane.leaving, None
        if leaving is None:
            return
        leaving.mark.synchronize()
        if leaving.staged is not None and leaving.staged.size:
            self._crew.start_copy(self.memory[slice(*leaving.place)], leaving.staged)
            self._crew.finish_copies()
        if leaving.chunk is not None:
            offsets = self.offsets[leaving.chunk.places]
            np.add(lane.doc_ids[: offsets.size], leaving.place[0], out=offsets, casting="unsafe")
            if self._call.special.size:
                offsets += self._call.special.size * np.arange(offsets.size)

    def result(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return ids and offsets."""
        return self.memory[: self.used], self.offsets

"""From host memory to host memory: copies in, work and copies out, each on a stream of its own.

A few slots are used in turn. While one is filled, the previous one is encoded and the one before
that is copied out. Pinned memory of the caller is copied directly; other memory goes through a
pinned buffer of the slot.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.splice import NO_SPECIAL_IDS, lengths_of, splice_on_host
from tokenmill._errors import OutputTooSmall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.fallback import CpuFallback, Replaced
    from tokenmill._cuda.protocols import Mark
    from tokenmill._cuda.slot import BatchJob, BatchOutcome, Slot
    from tokenmill._cuda.texts import TextPart

SLOTS = 4
_LAG = 2  # chunks that are copied in or encoded while an older one is copied out
_COPIERS = 4
_COPY_BYTES = 4 << 20  # a smaller copy is not worth a second thread


class Copier:
    """Copies within host memory, with several threads."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_COPIERS, thread_name_prefix="tokenmill-copy")

    def copy(self, target: NDArray[Any], source: NDArray[Any]) -> None:
        """Copy an array of the same size and type."""
        share = max(-(-source.size // _COPIERS), _COPY_BYTES // source.itemsize)
        begins = range(0, source.size, share)
        if len(begins) == 1:
            np.copyto(target, source)
            return
        jobs = [
            self._pool.submit(np.copyto, target[at : at + share], source[at : at + share])
            for at in begins
        ]
        for job in jobs:
            job.result()


class Sink:
    """Receives ids: memory of the caller, or our own, which grows."""

    def __init__(self, out: NDArray[Any] | None, size: int, dtype: Any) -> None:
        self.is_own = out is None
        self.memory = np.empty(size, dtype) if out is None else out
        self.used = 0

    def take(self, count: int) -> tuple[int, int]:
        """Return the range of the next ids."""
        begin, end = self.used, self.used + count
        if end > self.memory.size:
            if not self.is_own:
                raise OutputTooSmall(
                    f"out: expected room for all ids, got {self.memory.size}, and there are more",
                    hint="one id for each byte of text is always enough",
                )
            grown = np.empty(max(end, 2 * self.memory.size), self.memory.dtype)
            grown[:begin] = self.memory[:begin]
            self.memory = grown
        self.used = end
        return begin, end


class Lane:
    """A slot and its pinned memory."""

    def __init__(self, engine: DeviceEngine, size: int, documents: int) -> None:
        backend = engine.backend
        self.slot: Slot = engine.slot(size, documents)
        self.text_in = backend.pinned(self.slot.size, np.uint8)
        self.ids_out = backend.pinned(self.slot.size, np.uint32)
        self.doc_ids = backend.pinned(self.slot.documents + 1, np.uint32)
        self.leaving: Leaving | None = None

    def holds(self, size: int, documents: int) -> bool:
        """Check whether a chunk fits."""
        return size <= self.slot.size and documents <= self.slot.documents


@dataclass(frozen=True)
class Chunk:
    """Documents that are encoded together; `lane` is None if the CPU encodes them."""

    part: TextPart
    begin: int
    end: int
    lane: Lane | None


@dataclass(frozen=True)
class Leaving:
    """Ids that are being copied out: their staging buffer, range in the sink, and offsets."""

    mark: Mark
    staged: NDArray[Any] | None
    place: tuple[int, int]
    offsets: NDArray[np.int64]


class Ring:
    """Encodes text of the host into memory of the host."""

    def __init__(self, engine: DeviceEngine, chunk_bytes: int, longest: int) -> None:
        self._engine = engine
        self._backend = engine.backend
        self._chunk = chunk_bytes
        self._longest = longest
        self._lanes: list[Lane | None] = [None] * SLOTS
        self._next = 0
        self._streams = {name: self._backend.new_stream() for name in ("in", "work", "out")}
        self._copier = Copier()

    def encode(
        self, parts: Sequence[TextPart], job: BatchJob, cpu: CpuFallback, out: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the ids of all parts and the offsets of documents."""
        run = _Run(parts, job, cpu, out)
        begun = self._backend.mark()
        for stream in self._streams.values():
            with self._backend.using(stream):
                self._backend.wait(begun)
        chunks = ((part, begin, end) for part in parts for begin, end in part.batches(self._chunk))
        waiting: deque[Chunk] = deque()
        try:
            for part, begin, end in chunks:
                waiting.append(self._start(run, part, begin, end))
                if len(waiting) > _LAG:
                    self._collect(run, waiting.popleft())
            while waiting:
                self._collect(run, waiting.popleft())
        finally:
            self._finish(run, waiting)
        return run.sink.memory[: run.sink.used], run.offsets

    def _start(self, run: _Run, part: TextPart, begin: int, end: int) -> Chunk:
        """Start the copy of documents to the device, and their encoding after it."""
        size = int(part.offsets[end] - part.offsets[begin])
        if size > self._longest:
            return Chunk(part, begin, end, None)
        lane = self._lane(run, size, end - begin)
        first, last = int(part.offsets[begin]), int(part.offsets[end])
        with self._backend.using(self._streams["in"]):
            if part.on_device or self._backend.is_pinned(part.data):
                self._engine.load(lane.slot, part, begin, end)
            else:
                self._copier.copy(lane.text_in[:size], part.data[first:last])
                moved = part.offsets[begin : end + 1] - first
                staged = replace(part, data=lane.text_in, offsets=moved)
                self._engine.load(lane.slot, staged, 0, end - begin)
            arrived = self._backend.mark()
        with self._backend.using(self._streams["work"]):
            self._backend.wait(arrived)
            self._engine.launch(lane.slot, run.job)
        return Chunk(part, begin, end, lane)

    def _lane(self, run: _Run, size: int, documents: int) -> Lane:
        """Return the next lane once its previous ids are out."""
        number = self._next
        self._next = (number + 1) % SLOTS
        lane = self._lanes[number]
        if lane is not None:
            self._drain(run, lane)
        if lane is None or not lane.holds(size, documents):
            size = max(size, 0 if lane is None else lane.slot.size)
            self._settle()
            lane = self._lanes[number] = None  # frees its memory
            lane = self._lanes[number] = Lane(self._engine, size, documents)
            self._backend.mark().synchronize()  # the stream of the call clears its memory
        return lane

    def _settle(self) -> None:
        """Wait for all streams: buffers in use may be replaced next."""
        for stream in self._streams.values():
            with self._backend.using(stream):
                self._backend.mark().synchronize()

    def _collect(self, run: _Run, chunk: Chunk) -> None:
        """Wait until a chunk is encoded, and start the copy of its ids to the host."""
        with self._backend.using(self._streams["out"]):
            if chunk.lane is None:
                run.put_long(self._engine, chunk)
                return
            outcome = self._engine.outcome(chunk.lane.slot)
            replaced = run.cpu.replace(self._backend, chunk.part, chunk.begin, outcome)
            if replaced is not None:
                self._put_replaced(run, chunk, chunk.lane.slot, outcome, replaced)
            else:
                self._leave(run, chunk, chunk.lane, outcome)

    def _leave(self, run: _Run, chunk: Chunk, lane: Lane, outcome: BatchOutcome) -> None:
        source = lane.slot.ids_of(run.job)[: outcome.id_count]
        place = run.sink.take(outcome.id_count)
        direct = not run.sink.is_own and self._backend.is_pinned(run.sink.memory)
        staged = None if direct else lane.ids_out.view(source.dtype)[: outcome.id_count]
        target = run.sink.memory[slice(*place)] if staged is None else staged
        self._backend.download(target, source)
        self._backend.download(lane.doc_ids, lane.slot.doc_ids[: outcome.documents + 1])
        lane.leaving = Leaving(self._backend.mark(), staged, place, run.offsets_of(chunk))

    def _drain(self, run: _Run, lane: Lane) -> None:
        """Wait until the ids of a lane are out."""
        leaving, lane.leaving = lane.leaving, None
        if leaving is None:
            return
        leaving.mark.synchronize()
        if leaving.staged is not None and leaving.staged.size:
            self._copier.copy(run.sink.memory[slice(*leaving.place)], leaving.staged)
        count = leaving.offsets.size
        np.add(lane.doc_ids[:count], leaving.place[0], out=leaving.offsets, casting="unsafe")

    def _put_replaced(
        self, run: _Run, chunk: Chunk, slot: Slot, outcome: BatchOutcome, replaced: Replaced
    ) -> None:
        """Copy the ids of a chunk out at once, with those of the CPU in their places."""
        doc_ids = self._backend.to_host(slot.doc_ids[: outcome.documents + 1])
        ids = self._backend.to_host(slot.ids_of(run.job)[: outcome.id_count])
        lengths = lengths_of(doc_ids, replaced, NO_SPECIAL_IDS)
        run.put(chunk, splice_on_host(ids, doc_ids, replaced), lengths)

    def _finish(self, run: _Run, waiting: Iterable[Chunk]) -> None:
        """Wait for all copies and launches, also after an error."""
        for chunk in waiting:
            if chunk.lane is not None and chunk.lane.slot.done is not None:
                chunk.lane.slot.done.synchronize()
        for lane in self._lanes:
            if lane is not None:
                self._drain(run, lane)


class _Run:
    """One call: its options and its results so far."""

    def __init__(
        self, parts: Sequence[TextPart], job: BatchJob, cpu: CpuFallback, out: NDArray[Any] | None
    ) -> None:
        self.job, self.cpu = job, cpu
        self.sink = Sink(out, sum(part.size for part in parts), job.dtype)
        self.offsets = np.zeros(sum(map(len, parts)) + 1, np.int64)

    def offsets_of(self, chunk: Chunk) -> NDArray[np.int64]:
        """Return the offsets of a chunk's documents, and the end of the last one."""
        first = chunk.part.first + chunk.begin
        return self.offsets[first : first + chunk.end - chunk.begin + 1]

    def put(self, chunk: Chunk, pieces: Sequence[NDArray[Any]], lengths: NDArray[np.int64]) -> None:
        """Write ids that are on the host."""
        begin, end = self.sink.take(int(lengths.sum()))
        np.concatenate(pieces, out=self.sink.memory[begin:end])
        self.offsets_of(chunk)[:] = begin + np.concatenate([[0], np.cumsum(lengths)])

    def put_long(self, engine: DeviceEngine, chunk: Chunk) -> None:
        """Encode a document that is too long for the device."""
        replaced = self.cpu.replace_long(engine.backend, chunk.part, chunk.begin)
        ids = replaced.ids.astype(self.sink.memory.dtype)
        self.put(chunk, [ids], np.diff(replaced.offsets))

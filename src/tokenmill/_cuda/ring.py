"""Texts of the host through a ring of slots: copies in, work and copies out overlap.

A few slots are used in turn, and each kind of work has a stream of its own. While one slot is
filled, the previous one is encoded and the ids of the one before that leave it. Pinned memory of
the caller is copied directly; other memory goes through a pinned buffer of the slot, gathered by
native threads.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._cuda.chunks import chunks_of
from tokenmill._cuda.lane import Lane
from tokenmill._cuda.splice import EncodedSlot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tokenmill._core import CopyCrew
    from tokenmill._cuda.chunks import Chunk
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.sinks import DeviceSink, EncodeCall, HostSink
    from tokenmill._cuda.slot import OffsetsTarget
    from tokenmill._cuda.texts import TextPart

SLOTS = 4
_LAG = 2  # chunks that are copied in or encoded while an older one is copied out


@dataclass(frozen=True)
class Started:
    """A chunk on its way through the device; `lane` is None if the CPU encodes it."""

    chunk: Chunk
    lane: Lane | None
    broken: NDArray[np.int64] | None = None  # documents with lone surrogates
    is_placed: bool = False  # its offsets are written by the launches


class Ring:
    """Encodes text of the host into a sink. One thread at a time may use it."""

    def __init__(
        self, engine: DeviceEngine, crew: CopyCrew, chunk_bytes: int, longest: int
    ) -> None:
        self._engine = engine
        self._backend = engine.backend
        self._crew = crew
        self._chunk = chunk_bytes
        self._longest = longest
        self._lanes: list[Lane | None] = [None] * SLOTS
        self._next = 0
        self._own = {name: self._backend.new_stream() for name in ("in", "work", "out")}
        self._streams: dict[str, Any] = self._own

    def encode(
        self, parts: Sequence[TextPart], call: EncodeCall, sink: HostSink | DeviceSink
    ) -> None:
        """Encode all parts; results are ready for work on the current stream."""
        chunks = chunks_of(parts, self._chunk)
        self._streams, self._next = self._own, 0
        if len(chunks) == 1:  # nothing to overlap with: it stays on the stream of the call
            self._streams = dict.fromkeys(self._own)
        self._enter()
        waiting: deque[Started] = deque()
        try:
            for chunk in chunks:
                lane, is_gathered = self._begin(chunk, sink)
                if len(waiting) >= _LAG:  # while the crew gathers the text
                    self._collect(waiting.popleft(), call, sink)
                if lane is None:
                    waiting.append(Started(chunk, None))
                    continue
                target = sink.target(chunk, is_next=not waiting)
                waiting.append(self._start(chunk, lane, call, target, is_gathered=is_gathered))
            while waiting:
                self._collect(waiting.popleft(), call, sink)
        finally:
            self._finish(waiting, sink)

    def first_lane(self, size: int, documents: int) -> Lane:
        """Return a lane that is not in use, for a batch of one's own."""
        self._streams, self._next = dict.fromkeys(self._own), 0
        return self._lane(None, size, documents)

    def _enter(self) -> None:
        """Let all streams wait for the work of the caller so far."""
        begun = self._backend.mark()
        for stream in self._streams.values():
            if stream is not None:
                with self._backend.using(stream):
                    self._backend.wait(begun)

    def _begin(self, chunk: Chunk, sink: HostSink | DeviceSink) -> tuple[Lane | None, bool]:
        """Let the crew gather the text of a chunk, unless it is taken from where it is."""
        if chunk.size > self._longest:
            return None, False
        lane = self._lane(sink, chunk.size, chunk.end - chunk.begin)
        return lane, lane.begin_load(chunk, self._crew)

    def _start(
        self,
        chunk: Chunk,
        lane: Lane,
        call: EncodeCall,
        target: OffsetsTarget | None,
        *,
        is_gathered: bool,
    ) -> Started:
        """Start the copy of a chunk to the device, and its encoding after it."""
        with self._backend.using(self._streams["in"]):
            broken = lane.load(chunk, self._crew, is_gathered=is_gathered)
            arrived = self._backend.mark()
        with self._backend.using(self._streams["work"]):
            self._backend.wait(arrived)
            self._engine.launch(lane.slot, call.job, target)
        return Started(chunk, lane, broken, target is not None)

    def _lane(self, sink: HostSink | DeviceSink | None, size: int, documents: int) -> Lane:
        """Return the next lane once its previous ids are out."""
        number = self._next
        self._next = (number + 1) % SLOTS
        lane = self._lanes[number]
        if lane is not None:
            if sink is not None:
                sink.drain(lane)
            if lane.used is not None:
                lane.used.synchronize()  # its pinned memory is written again
                lane.used = None
        if lane is None or not lane.holds(size, documents):
            size = max(size, 0 if lane is None else lane.slot.size)
            documents = max(documents, 0 if lane is None else lane.slot.documents)
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

    def _collect(self, started: Started, call: EncodeCall, sink: HostSink | DeviceSink) -> None:
        """Wait until a chunk is encoded, and hand its ids to the sink."""
        chunk, lane = started.chunk, started.lane
        with self._backend.using(self._streams["out"]):
            if lane is None:
                long = call.cpu.replace_long(self._backend, chunk.part, chunk.begin)
                sink.take_long(chunk, long)
                return
            assert started.broken is not None  # noqa: S101 -- every lane was loaded
            outcome = self._engine.outcome(lane.slot)
            replaced = call.cpu.replace(
                self._backend, chunk.part, chunk.begin, outcome, started.broken
            )
            batch = EncodedSlot(lane.slot, outcome, replaced)
            lane.used = sink.take(chunk, batch, lane, is_placed=started.is_placed)

    def _finish(self, waiting: Iterable[Started], sink: HostSink | DeviceSink) -> None:
        """Let the stream of the call wait for all work; the host waits for what it receives."""
        self._crew.finish_copies()  # after an error
        for started in waiting:  # after an error
            if started.lane is not None and started.lane.slot.done is not None:
                started.lane.slot.done.synchronize()
        for lane in self._lanes:
            if lane is not None:
                sink.drain(lane)
        if self._streams is self._own:
            with self._backend.using(self._own["out"]):
                ended = self._backend.mark()
            self._backend.wait(ended)

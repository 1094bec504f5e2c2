"""Streams -> chunks of raw JSONL in pinned memory, which a device reads; threads read ahead.

Files are read by the same readers as everywhere, so records, places and counts are theirs too. Each
stream has a lane while it is read: pinned memory, and a slot of the device. What a device does not
read (another format, a block that is too long for a lane) comes as a parsed block.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._cuda.jsonl import JsonlRules, JsonlSlot
from tokenmill._cuda.texts import TextPart
from tokenmill._read import open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from tokenmill._cuda.jsonl import JsonlOutcome, JsonlReader
    from tokenmill._cuda.line_device import NativeLines
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.run.encode import BlockEncoder
    from tokenmill._read import ReadRules, Stream
    from tokenmill._read.blocks import BadRecord, Block, RawBlock, RawPart

_NEWLINE = 10
_SMALLEST_LANE = 1 << 16
_MOST_LANES = 10


class Lane:
    """Memory for one chunk on the host and on the device."""

    def __init__(self, backend: DeviceBackend, size: int) -> None:
        self.host: NDArray[np.uint8] = backend.pinned(size, np.uint8)
        self.slot = JsonlSlot(backend, size)
        self.stream = backend.new_stream()
        self.number = -1  # for native calls
        backend.mark().synchronize()  # the current stream clears its memory


@dataclass
class RawChunk:
    """Whole lines, back to back in a lane, all with the same text field."""

    lane: Lane
    text_field: str
    size: int = 0
    parts: list[tuple[RawPart, int, int]] = field(default_factory=list)  # where, how many bytes
    bad: list[BadRecord] = field(default_factory=list)  # found while reading
    last: RawBlock | None = None
    reader: JsonlReader | None = None  # once it was launched

    def add(self, raw: RawBlock) -> None:
        """Copy a block; every part ends with a newline."""
        for part in raw.parts:
            data = np.frombuffer(part.data, np.uint8)
            end = self.size + data.size
            here = self.lane.host[self.size : end]
            if here.ctypes.data != data.ctypes.data:  # else it was read into its place
                np.copyto(here, data)
            self.parts.append((replace(part, data=None), self.size, data.size))
            if data.size and data[-1] != _NEWLINE:
                self.lane.host[end] = _NEWLINE
                end += 1
            self.size = end
        self.bad += raw.bad
        self.last = raw

    def launch(self, reader: JsonlReader) -> None:
        """Start the copy to the device, and the reading there."""
        self.reader = reader
        backend, slot = reader.backend, self.lane.slot
        with backend.using(self.lane.stream):
            backend.upload(slot.raw[: self.size], self.lane.host[: self.size])
            reader.launch(slot, self.size)

    def start(self, lines: NativeLines, reader: JsonlReader) -> None:
        """Do the same by a native call."""
        self.reader = reader
        lines.core.start(self.lane.number, self.size, lines.reading(reader))

    def outcome(self) -> JsonlOutcome:
        """Wait until the device has read it."""
        assert self.reader is not None  # noqa: S101 -- a chunk is launched before it is yielded
        return self.reader.outcome(self.lane.slot)

    def part(self, found: JsonlOutcome) -> TextPart:
        """Return the texts, which are on the device."""
        assert self.reader is not None  # noqa: S101 -- it has an outcome
        slot = self.lane.slot
        offsets = self.reader.offsets(slot, found)
        return TextPart(0, slot.text[: found.text_bytes], offsets, on_device=True)

    def as_raw_block(self) -> RawBlock:
        """Return the chunk as a block for the CPU's reader."""
        host = self.lane.host
        parts = [replace(part, data=host[at : at + size]) for part, at, size in self.parts]
        assert self.last is not None  # noqa: S101 -- it is not empty
        return replace(self.last, parts=tuple(parts), bad=tuple(self.bad))


class _Filling:
    """One stream that is read into its lane, chunk by chunk, by one thread at a time."""

    def __init__(self, chunks: JsonlChunks, stream: Stream, lane: Lane) -> None:
        self._chunks, self.stream, self.lane = chunks, stream, lane
        plan = chunks.plan
        rules = replace(plan.rules, block_bytes=chunks.block_bytes)
        self._reader = open_stream(stream, plan.files, rules, plan.fields)
        self._next: RawBlock | None = None
        self.future: Future[RawChunk | Block | None]

    def fill(self) -> RawChunk | Block | None:
        """Return the next chunk or parsed block; None after the last."""
        raw = self._read(0)
        if raw is None:
            return None
        name = self._field(raw)
        if name is None or not 1 < size_of(raw) <= self.lane.host.size:
            return self._chunks.parser.parse(raw, self.stream)
        chunk = RawChunk(self.lane, name)
        chunk.add(raw)
        while (more := self._read(chunk.size)) is not None:
            fits = chunk.size + size_of(more) <= self.lane.host.size
            if not fits or (more.parts and self._field(more) != name):
                self._next = more
                break
            chunk.add(more)
        return chunk

    def _read(self, used: int) -> RawBlock | None:
        """Read a block, into the lane after what is used of it if that has room for a block."""
        raw, self._next = self._next, None
        if raw is None:
            left = self.lane.host[used:-1]  # a newline may have to follow
            raw = self._reader.read(left if left.size > self._chunks.block_bytes else None)
        return raw

    def _field(self, raw: RawBlock) -> str | None:
        plan = self._chunks.plan
        return field_of_block(raw, plan.rules, plan.fields)

    def close(self) -> None:
        self._reader.close()


@dataclass
class JsonlChunks:
    """Reads streams ahead with `threads` threads, in chunks of about `chunk_bytes`."""

    backend: DeviceBackend
    plan: Plan
    parser: BlockEncoder
    open_reader: Callable[[JsonlRules], JsonlReader]
    lines: NativeLines
    chunk_bytes: int
    threads: int
    _lanes: list[Lane] = field(default_factory=list)
    _readers: dict[str, JsonlReader] = field(default_factory=dict)

    @property
    def block_bytes(self) -> int:
        """The size of blocks that are read from files."""
        return min(self.plan.rules.block_bytes, self.chunk_bytes)

    def read(self, streams: Sequence[Stream]) -> Iterator[tuple[RawChunk | Block, Stream]]:
        """Yield the chunks and blocks of streams in order; a chunk is valid until the next one."""
        free = list(self._lanes)
        fillings: deque[_Filling] = deque()
        pool = ThreadPoolExecutor(self.threads, thread_name_prefix="tokenmill-read")
        try:
            for stream in streams:
                if not free and len(self._lanes) < min(self.threads + 2, _MOST_LANES):
                    free.append(self._new_lane())  # it takes a while: others are read meanwhile
                if not free:
                    yield from self._drain(fillings, pool)
                    free.append(fillings.popleft().lane)
                filling = _Filling(self, stream, free.pop())
                filling.future = pool.submit(filling.fill)
                fillings.append(filling)
            while fillings:
                yield from self._drain(fillings, pool)
                fillings.popleft()
        finally:
            pool.shutdown(cancel_futures=True)
            for filling in fillings:
                filling.close()

    def _drain(
        self, fillings: deque[_Filling], pool: ThreadPoolExecutor
    ) -> Iterator[tuple[RawChunk | Block, Stream]]:
        """Yield everything of the first stream."""
        first = fillings[0]
        while (item := first.future.result()) is not None:
            self._launch(item)
            for other in list(fillings)[1:3]:  # the device works on them in the meantime
                if other.future.done() and other.future.exception() is None:
                    self._launch(other.future.result())
            yield item, first.stream
            first.future = pool.submit(first.fill)
        first.close()

    def _launch(self, item: RawChunk | Block | None) -> None:
        if isinstance(item, RawChunk) and item.reader is None:
            if item.text_field not in self._readers:
                self._readers[item.text_field] = self.open_reader(
                    jsonl_rules(self.plan.rules, item.text_field)
                )
            item.start(self.lines, self._readers[item.text_field])

    def _new_lane(self) -> Lane:
        size = max(self.chunk_bytes + self.chunk_bytes // 8, _SMALLEST_LANE)
        with self.backend.using(None):
            lane = Lane(self.backend, size)
            if not self._lanes:  # one chunk is encoded at a time: all share a seat
                self.lines.add_seat(size, lane.slot.lines)
            lane.number = self.lines.add_lane(lane.host, lane.slot, lane.stream, 0, 0)
        self._lanes.append(lane)
        return lane


def jsonl_rules(rules: ReadRules, name: str) -> JsonlRules:
    """Return the rules of reading for lines on a device."""
    return JsonlRules(
        name,
        rules.max_document_bytes,
        rules.max_line_bytes,
        "bad_utf8" in rules.replace,
        "lone_surrogate" in rules.replace,
    )


def field_of_block(raw: RawBlock, rules: ReadRules, fields: Sequence[str]) -> str | None:
    """Return the one text field of a block of JSONL; None if a device cannot read it."""
    kinds = {(part.kind, fields[part.file]) for part in raw.parts}
    if len(kinds) != 1:
        return None
    kind, name = kinds.pop()
    return name if kind == "jsonl" and jsonl_rules(rules, name).fits_device else None


def size_of(raw: RawBlock) -> int:
    """Return the bytes of a block in a chunk, with a newline after each part."""
    return sum(len(part.data) + 1 for part in raw.parts)

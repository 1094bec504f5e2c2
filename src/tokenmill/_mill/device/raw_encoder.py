"""Raw blocks of JSONL -> the ids of their documents, for the workers of the mill.

A block of one file is read into pinned memory, if a lane is free, and takes one native call, in
which a worker needs no lock of the interpreter: the device reads the lines and encodes the texts,
and the ids come back through pinned memory. Blocks of several small files take the same steps one
by one. The host sees places and faults, but no text.
"""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.line_device import DOES_NOT_FIT, LEFT_TO_READER
from tokenmill._cuda.options import CallOptions
from tokenmill._errors import DeviceError, SpecialTokenInText
from tokenmill._mill.device.jsonl_chunks import Lane, RawChunk, field_of_block, jsonl_rules, size_of
from tokenmill._mill.device.line_lanes import LANES, SMALLEST_LANE, LineLanes, RawJob
from tokenmill._pack import frame
from tokenmill._read.blocks import RAW_BYTES, REASONS, BadRecord, Block
from tokenmill._read.parse import encoded_lines, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tokenmill._cuda.encoder import DeviceEncoder
    from tokenmill._cuda.jsonl import JsonlOutcome, JsonlReader
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._mill.device.line_lanes import LentLane
    from tokenmill._read import RawBlock, ReadRules

_BYTES_OF_AN_ID = 4
_AT_ONCE = 3  # blocks of several files: a copy in, work, a copy out
_NO_TEXT = np.empty(0, np.uint8)


class WorkerLane(Lane):
    """A lane with pinned memory for ids: a fourth of its bytes, as text usually has."""

    def __init__(self, backend: DeviceBackend, size: int) -> None:
        super().__init__(backend, size)
        self.ids_out = backend.pinned(size // _BYTES_OF_AN_ID, np.uint32)


@dataclass(frozen=True)
class EncodedRaw:
    """A block without its text, and the ids of its documents, with those around them."""

    block: Block
    ids: NDArray[Any]
    lengths: NDArray[np.int64]


@dataclass
class RawEncoder:
    """Encodes raw blocks on a device; many threads may call it.

    `left_to_reader` counts the blocks of JSONL that the device left to the CPU's reader.
    """

    encoder: DeviceEncoder
    backend: DeviceBackend
    left_to_reader: int = 0
    _free: list[WorkerLane] = field(default_factory=list)
    _readers: dict[Any, JsonlReader] = field(default_factory=dict)
    _lanes: dict[Any, LineLanes] = field(default_factory=dict)
    _before: dict[Any, Counter[str]] = field(default_factory=dict)
    _preparing: LineLanes | None = None
    _lent: threading.local = field(default_factory=threading.local)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(_AT_ONCE))

    @property
    def spent(self) -> Counter[str]:
        """Seconds that workers spent in each step of native calls, and the number of blocks."""
        found: Counter[str] = Counter()
        for key, lanes in self._lanes.items():
            found.update(lanes.spent)
            found.subtract(self._before[key])
        return found

    def prepare(self, job: RawJob) -> None:
        """Make the lanes for such blocks; meanwhile, those that exist may be used."""
        lanes = self._kept_lanes(job)
        lanes.make(1)
        self._use(lanes, job)
        self._preparing = lanes
        try:
            lanes.make(LANES)
        finally:
            self._preparing = None

    def _kept_lanes(self, job: RawJob) -> LineLanes:
        """Return the lanes of an earlier run, or new ones: making them takes a tenth of a second.

        Those of one kind are kept, as long as the tokenizer is on the device.
        """
        kept: dict[Any, LineLanes] = self.encoder.kept_lines
        if job.key not in kept:
            kept.clear()
            kept[job.key] = LineLanes(self.encoder, self.backend, job)
        return kept[job.key]

    def _use(self, lanes: LineLanes, job: RawJob) -> None:
        self._before[job.key] = Counter(lanes.spent)
        self._lanes[job.key] = lanes
        self._readers = lanes.readers  # native calls know them

    @property
    def has_free_lane(self) -> bool:
        """Whether a block would be encoded at once, while lanes are being made."""
        preparing = self._preparing
        return preparing is not None and (self._lent_lane is not None or preparing.has_free)

    @property
    def _lent_lane(self) -> LentLane | None:
        """The lane of this thread."""
        return getattr(self._lent, "lane", None)

    @contextmanager
    def lent_memory(self) -> Iterator[NDArray[np.uint8] | None]:
        """Lend memory for the next block of this thread; None if there is none.

        What is in it must not be needed afterwards.
        """
        lanes = next(iter(self._lanes.values()), None)
        lent = None if lanes is None else lanes.lend()
        if lanes is None or lent is None:
            yield None
            return
        self._lent.lane = lent
        try:
            yield lent.memory
        finally:
            self._lent.lane = None
            lanes.give_back(lent)

    def encode(self, raw: RawBlock, job: RawJob) -> EncodedRaw | None:
        """Return the ids of a block; None if the host must parse it.

        That is so for other formats, for what the device leaves to the CPU, and for errors, so that
        they come from the CPU's reader with their places.
        """
        name = field_of_block(raw, job.rules, job.fields)
        if name is None or size_of(raw) <= 1:
            return None
        try:
            found = self._encode_one_part(raw, job, name) if len(raw.parts) == 1 else DOES_NOT_FIT
            if found == DOES_NOT_FIT:
                found = self._encode_parts(raw, job, name)
        except (DeviceError, SpecialTokenInText):
            return None
        if found == LEFT_TO_READER:
            with self._lock:
                self.left_to_reader += 1
        return found if isinstance(found, EncodedRaw) else None

    def _encode_one_part(self, raw: RawBlock, job: RawJob, name: str) -> EncodedRaw | int | None:
        """Encode a block by one native call."""
        model = self.encoder.model
        found = self._line_lanes(job).encode(
            model, raw.parts[0].data, self._reader(job.rules, name), self._lent_lane
        )
        if isinstance(found, int):
            return found
        ids, lengths, lines, begins, bad, counts, flags = found
        with self._lock:
            self.encoder.count_flags(flags)
        if len(lengths) and not lengths.min():
            return None  # documents without a token: their bytes become a record
        block = encoded_lines(raw, job.rules, name, (lines, begins, bad, counts))
        return EncodedRaw(block, ids, lengths)

    def _line_lanes(self, job: RawJob) -> LineLanes:
        found = self._lanes.get(job.key)
        if found is None:
            with self._lock:
                found = self._lanes.get(job.key)
                if found is None:
                    found = self._kept_lanes(job)
                    found.make(LANES)
                    self._use(found, job)
        return found

    def _encode_parts(self, raw: RawBlock, job: RawJob, name: str) -> EncodedRaw | int | None:
        """Encode a block of several files, or one that is too long for a lane."""
        with self._turns:
            lane = self._take_lane(size_of(raw))
            try:
                chunk = RawChunk(lane, name)
                chunk.add(raw)
                chunk.launch(self._reader(job.rules, name))
                return self._encode(chunk, lane, job)
            finally:
                self._give_back(lane)

    def _encode(self, chunk: RawChunk, lane: WorkerLane, job: RawJob) -> EncodedRaw | int | None:
        options = CallOptions(job.dtype, special_in_text=job.special_in_text)
        found = chunk.outcome()
        if not found.is_sure:
            return LEFT_TO_READER
        with self.backend.using(lane.stream):
            part = chunk.part(found)
            ids, offsets = self.encoder.encode_parts([part], options)
            staged = lane.ids_out.view(ids.dtype)[: ids.size]
            if staged.size < ids.size:  # rare: text with many more ids than usual
                staged = self.backend.to_host(ids)
            else:
                self.backend.download(staged, ids)
            block = _block_of(chunk, found, part.offsets, job.rules)
            bounds = self.backend.to_host(offsets)
            self.backend.mark().synchronize()
        if found.documents and not np.diff(bounds).all():
            return None  # documents without a token: their bytes become a record
        return EncodedRaw(block, *frame(staged, bounds, job.prefix, job.suffix))

    def _reader(self, rules: ReadRules, name: str) -> JsonlReader:
        wanted = jsonl_rules(rules, name)
        found = self._readers.get(wanted)
        if found is None:
            with self._lock:
                found = self._readers.setdefault(wanted, self.encoder.jsonl_reader(wanted))
        return found

    def _take_lane(self, size: int) -> WorkerLane:
        with self._lock:
            fitting = [lane for lane in self._free if lane.host.size >= size]
            if fitting:
                self._free.remove(fitting[0])
                return fitting[0]
            if self._free:  # frees its memory: lanes are as many as workers
                self._free.pop()
            with self.backend.using(None):
                return WorkerLane(self.backend, max(size + size // 4, SMALLEST_LANE))

    def _give_back(self, lane: WorkerLane) -> None:
        with self._lock:
            self._free.append(lane)


def _block_of(
    chunk: RawChunk, found: JsonlOutcome, offsets: NDArray[np.int64], rules: ReadRules
) -> Block:
    """Return places and faults in the form of the CPU's reader."""
    assert chunk.reader is not None  # noqa: S101
    assert chunk.last is not None  # noqa: S101 -- it has an outcome
    slot, raw = chunk.lane.slot, chunk.last
    lines, begins = chunk.reader.places(slot, found)
    places = _Places(chunk, found)
    files, lines, positions = places.of(lines, begins)
    bad = list(chunk.bad)
    if found.reasons:
        bad += places.records(chunk.reader.bad_lines(slot, found), rules)
    repaired = found.repaired_surrogates
    return Block(
        text=_NO_TEXT,
        offsets=offsets,
        files=files.astype(np.int32),
        lines=lines,
        positions=positions,
        bad=tuple(sorted(bad, key=lambda record: (record.file, record.line))),
        after=raw.after,
        ends_stream=raw.ends_stream,
        replaced={"lone_surrogate": repaired} if repaired else {},
        blank_lines=found.blank_lines,
        input_bytes=raw.input_bytes,
        text_bytes=raw.text_bytes,
        segment_lines=raw.segment_lines,
    )


class _Places:
    """Lines and bytes of a chunk -> files, and lines and bytes in them."""

    def __init__(self, chunk: RawChunk, found: JsonlOutcome) -> None:
        self._chunk = chunk
        self._begins = np.array([at for _, at, _ in chunk.parts], np.int64)
        first_lines = np.zeros(len(chunk.parts), np.int64)
        if len(chunk.parts) > 1 and chunk.reader is not None:
            ends = chunk.reader.line_ends(chunk.lane.slot, found)
            first_lines = np.searchsorted(ends, self._begins).astype(np.int64)
        parts = [part for part, _, _ in chunk.parts]
        self._files = np.array([part.file for part in parts], np.int64)
        self._lines = np.array([part.line for part in parts], np.int64) - first_lines
        self._offsets = np.array([part.offset for part in parts], np.int64) - self._begins

    def of(self, lines: NDArray[np.int64], begins: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """Return files, lines from 1 and positions, of lines that start at bytes of the chunk."""
        part = np.searchsorted(self._begins, begins, side="right") - 1
        return self._files[part], lines + self._lines[part], begins + self._offsets[part]

    def records(self, bad: NDArray[np.int64], rules: ReadRules) -> list[BadRecord]:
        """Return the records of bad lines."""
        host, name = self._chunk.lane.host, self._chunk.text_field
        found = []
        for places, row in zip(zip(*self.of(bad[:, 0], bad[:, 1]), strict=True), bad, strict=True):
            file, line, position = map(int, places)
            begin, length, fault, number = map(int, row[1:])
            reason = REASONS[number]
            message = message_of(reason, rules, name, fault, length)
            data = bytes(host[begin : begin + min(length, RAW_BYTES)])
            found.append(BadRecord(reason, file, line, position, length, message, data))
        return found

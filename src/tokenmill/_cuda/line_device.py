"""Memory and recorded work for native calls that read and encode lines on a device.

`_core.LineDevice` uses what is made here without the interpreter: lanes read JSON lines, and seats
encode the texts of a lane. All work has fixed addresses, so it is recorded once for a few sizes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._core import LineDevice
from tokenmill._cuda.engine import dedupe_entries, host_address
from tokenmill._cuda.jsonl import run_kernels
from tokenmill._cuda.layout import (
    BATCH,
    JSONL,
    BatchCounter,
    DocumentFlag,
    JsonCounter,
    JsonReason,
    fill,
    places,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._core import DeviceTurn
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.jsonl import JsonlReader, JsonlSlot
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._cuda.slot import BatchJob, Slot

LEFT_TO_READER, DOES_NOT_FIT = 1, 2  # what encode_lines returns in place of ids
_SHARES = (8, 2, 1)  # of the largest size: work is recorded for each, because blocks differ
_NUMBERS_OF_LINE = 12  # bytes: end, reason and fault
_IN_BATCH, _IN_JSONL = places(BATCH), places(JSONL)


def numbers_room(slot: JsonlSlot) -> int:
    """Return the bytes of host memory that the numbers of a chunk pass through."""
    return _NUMBERS_OF_LINE * slot.lines + 64


class NativeLines:
    """Lanes and seats of one tokenizer for one kind of call; it keeps all they point to."""

    def __init__(
        self, engine: DeviceEngine, turn: DeviceTurn, job: BatchJob, json_tile: int
    ) -> None:
        self._engine, self._turn, self._job = engine, turn, job
        self._backend: DeviceBackend = engine.backend
        self._work = self._backend.new_stream()
        self._kept: list[Any] = [self._work]
        self._readings: dict[JsonlReader, int] = {}
        self._has_run = False
        self.seats: list[Slot] = []
        self._hosts: dict[int, NDArray[np.uint8]] = {}  # of lanes, by their numbers
        self.core = LineDevice(
            self._backend.driver(),
            _layout(engine.tile, json_tile),
            turn,
            self._backend.handle(self._work),
        )

    def add_seat(self, size: int, documents: int) -> int:
        """Make what encodes texts of up to so many bytes."""
        engine, backend = self._engine, self._backend
        with self._turn, backend.using(None):
            slot = engine.slot(size, documents)
            engine.hold(slot, self._job)
            backend.mark().synchronize()  # the current stream clears its memory
            sizes = _sizes(slot.size)
            graphs = [engine.record(slot, self._job, size, slot.documents) for size in sizes]
        self._kept += graphs
        self.seats.append(slot)
        works = [
            (size, backend.handle(graph), dedupe_entries(size) - 1)
            for size, graph in zip(sizes, graphs, strict=True)
        ]
        numbers = {
            "batch": host_address(slot.host_struct),
            "counters": host_address(slot.host_counters),
            "ids": backend.address(slot.ids),
            "doc_ids": backend.address(slot.doc_ids),
            "doc_flags": backend.address(slot.doc_flags),
        }
        return self.core.add_seat(numbers, works)

    def add_lane(
        self, host: NDArray[np.uint8], slot: JsonlSlot, stream: Any, room: int, seat: int
    ) -> int:
        """Make a lane of memory that exists; `room` bytes of results pass through the host."""
        backend = self._backend
        numbers = backend.pinned(max(room, numbers_room(slot)), np.uint8)
        event = backend.new_event()
        slot.host_struct[:] = fill(JSONL, slot.values())
        with backend.using(stream):
            if not self._has_run:  # kernels load on their first run, which cannot be recorded
                self._run_once(slot)
            sizes = _sizes(slot.size)
            graphs = [backend.capture(partial(_read, backend, slot, size)) for size in sizes]
        self._kept += [host, slot, stream, numbers, event, *graphs]
        reads = [(s, backend.handle(g), 0) for s, g in zip(sizes, graphs, strict=True)]
        own = ("doc_begin", "doc_line", "doc_start", "line_end", "line_reason", "line_fault")
        lane = {
            "raw_in": host_address(host),
            "raw_room": min(host.size, slot.size),
            "numbers": host_address(numbers),
            "numbers_room": numbers.size,
            "job": host_address(slot.host_struct),
            "counters": host_address(slot.host_counters),
            "raw": backend.address(slot.raw),
            "text": backend.address(slot.text),
            **{name: backend.address(slot.arrays[name]) for name in own},
            "line_room": slot.lines,
            "stream": backend.handle(stream),
            "event": backend.handle(event),
            "seat": seat,
        }
        number = self.core.add_lane(lane, reads)
        self._hosts[number] = host
        return number

    def lend(self) -> tuple[int, NDArray[np.uint8]] | None:
        """Take a lane, and its host memory to read into; None if all are in use."""
        number = self.core.lend()
        return None if number is None else (number, self._hosts[number])

    def _run_once(self, slot: JsonlSlot) -> None:
        self._has_run = True
        backend = self._backend
        backend.upload(slot.struct, slot.host_struct)  # of no bytes
        run_kernels(backend, slot, 1)
        backend.mark().synchronize()

    def reading(self, reader: JsonlReader) -> int:
        """Return the number of a reader's rules."""
        if reader not in self._readings:
            values = [(_IN_JSONL[name], value) for name, value in reader.values.items()]
            self._readings[reader] = self.core.add_reading(values)
        return self._readings[reader]


def _sizes(largest: int) -> list[int]:
    return sorted({max(largest // share, 1) for share in _SHARES})


def _read(backend: DeviceBackend, slot: JsonlSlot, size: int) -> None:
    backend.upload(slot.struct, slot.host_struct)
    run_kernels(backend, slot, size)
    backend.download(slot.host_counters, slot.arrays["counters"])


def _layout(tile: int, json_tile: int) -> dict[str, int]:
    """Return the places of what native calls read and write."""
    batch = ("text", "doc_begin", "size", "documents", "tiles", "dedupe_mask")
    return {
        **{name: _IN_BATCH[name] for name in batch},
        "tile_bytes": tile,
        "json_size": _IN_JSONL["size"],
        "json_tiles": _IN_JSONL["tiles"],
        "json_tile_bytes": json_tile,
        "read_lines": JsonCounter.JSON_LINES,
        "read_documents": JsonCounter.JSON_DOCUMENTS,
        "read_bytes": JsonCounter.JSON_TEXT_BYTES,
        "read_repaired": JsonCounter.JSON_REPAIRED,
        "read_unsure": JsonCounter.JSON_UNSURE,
        "read_reasons": JsonCounter.JSON_REASONS,
        "blank": JsonReason.JSON_BLANK,
        "unsure": JsonReason.JSON_UNSURE_LINE,
        "flagged": BatchCounter.FLAGGED,
        "arrival": BatchCounter.ARRIVAL,
        "id_count": BatchCounter.ID_COUNT,
        "failed_flag": DocumentFlag.NO_SYNC,
    }

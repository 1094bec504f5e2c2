"""JSONL on a device: the raw bytes of lines -> texts back to back, and a reason for every other.

The rules, reasons and places are those of the CPU's reader. Rare lines that a device cannot decide
(see `JsonlOutcome.is_sure`) leave the whole chunk to that reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.layout import JSONL, JsonCounter, JsonOption, JsonReason, fill
from tokenmill._cuda.slot import MARGIN_AFTER, MARGIN_BEFORE, PAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import DeviceBackend, Mark

TILE = 8192  # bytes; the default of TM_JSON_TILE
LONGEST_CHUNK = 1 << 30  # bytes
MOST_LEVELS = 8  # kMostLevels: keys of a field's path
_LINE_BYTES = 32  # there is room for lines of that many bytes each
_FEWEST_LINES = 1024
_SUMS = 5  # more entries than tiles: scans read and write four at a time
_WALK_BLOCKS = 32  # of json_walk and json_settle, for each processor
_WALK_THREADS = 128
_COUNTERS = int(JsonCounter.JSON_COUNTER_COUNT)


@dataclass(frozen=True)
class JsonlRules:
    """What is read from lines, and what is a fault; as for the CPU's `read_jsonl`."""

    field: str
    max_document_bytes: int = 1 << 30
    max_line_bytes: int = 1 << 31
    replace_bad_utf8: bool = False
    replace_lone_surrogate: bool = False

    @property
    def fits_device(self) -> bool:
        """Whether a device follows a path that long."""
        return self.field.count(".") < MOST_LEVELS

    @property
    def options(self) -> JsonOption:
        """The bits of Jsonl::options."""
        lone = JsonOption.REPLACE_LONE if self.replace_lone_surrogate else JsonOption(0)
        return lone | (JsonOption.REPLACE_MALFORMED if self.replace_bad_utf8 else JsonOption(0))


@dataclass(frozen=True)
class JsonlOutcome:
    """Counts of a chunk. Unless `is_sure`, none of it is valid: the CPU must read the chunk."""

    lines: int
    documents: int
    text_bytes: int
    blank_lines: int
    repaired_surrogates: int
    reasons: Mapping[int, int]  # bad lines by the number of their reason
    is_sure: bool


class JsonlSlot:
    """The raw bytes, results and work of one chunk of up to `size` bytes."""

    def __init__(self, backend: DeviceBackend, size: int, tile: int = TILE) -> None:
        if not 0 < size <= LONGEST_CHUNK:
            raise ValueError(f"expected up to {LONGEST_CHUNK} bytes, got {size}")
        self.backend, self.size, self.tile = backend, size, tile
        self.lines = size // _LINE_BYTES + _FEWEST_LINES
        self.raw = _with_margins(backend, size)
        self.text = _with_margins(backend, size)
        tiles = -(-size // tile)
        words = tiles * (tile // 32) + 16  # strings are skipped in steps of 16 words
        shapes = {
            **dict.fromkeys(("stop_bits", "escape_bits", "line_bits"), words),
            **dict.fromkeys(_BY_TILE, tiles + _SUMS),
            **dict.fromkeys(_BY_LINE, self.lines + PAD),
            "counters": _COUNTERS,
        }
        self.arrays = {name: backend.zeros(count, np.uint32) for name, count in shapes.items()}
        self.struct = backend.zeros(len(JSONL), np.uint64)
        self.host_struct = backend.pinned(len(JSONL), np.uint64)
        self.host_counters = backend.pinned(_COUNTERS, np.uint32)
        self.done: Mark | None = None

    def values(self) -> dict[str, int]:
        """Return the fields of the struct that stay the same."""
        address = self.backend.address
        return {
            **{name: address(array) for name, array in self.arrays.items()},
            "raw": address(self.raw),
            "text": address(self.text),
            "line_capacity": self.lines,
        }


_BY_TILE = (
    "tile_flags", "tile_lines", "line_base", "tile_bytes", "byte_base", "tile_documents",
    "document_base",
)  # fmt: skip
_BY_LINE = (
    "line_end", "line_malformed", "line_lone", "line_reason", "line_fault", "field_begin",
    "field_end", "doc_begin", "doc_line", "doc_start",
)  # fmt: skip


def _with_margins(backend: DeviceBackend, size: int) -> Any:
    memory = backend.zeros(MARGIN_BEFORE + size + MARGIN_AFTER, np.uint8)
    return memory[MARGIN_BEFORE : MARGIN_BEFORE + size]


def run_kernels(backend: DeviceBackend, slot: JsonlSlot, size: int) -> None:
    """Launch the kernels for a chunk of up to so many bytes."""
    tiles, words = -(-size // slot.tile), slot.tile // 32
    lines = min(size, slot.lines)
    walks = min(_WALK_BLOCKS * backend.processors, -(-lines // _WALK_THREADS))
    struct = backend.address(slot.struct)
    for name, blocks, threads in (
        ("json_marks", tiles, words), ("json_line_bases", 1, 1024),
        ("json_line_ends", tiles, words), ("json_malformed", tiles, words),
        ("json_walk", walks, _WALK_THREADS), ("json_lone", tiles, words),
        ("json_settle", walks, _WALK_THREADS), ("json_sizes", tiles, words),
        ("json_text_bases", 1, 1024), ("json_copy", tiles, words),
    ):  # fmt: skip
        backend.launch(name, blocks, threads, 0, struct)


class JsonlReader:
    """Reads chunks of JSONL with one set of rules; any number of slots may be in use."""

    def __init__(self, backend: DeviceBackend, rules: JsonlRules) -> None:
        if not rules.fits_device:
            raise ValueError(f"expected up to {MOST_LEVELS} keys, got {rules.field!r}")
        self.backend, self.rules = backend, rules
        keys = [key.encode() for key in rules.field.split(".")]
        begins = np.cumsum([0, *(len(key) + 1 for key in keys)]).astype(np.uint32)
        path = np.frombuffer(b".".join(keys), np.uint8)
        with backend.using(None):
            self._path, self._levels = backend.asarray(path), backend.asarray(begins)
            backend.mark().synchronize()  # chunks are read on other streams
        self.values = {
            "path": backend.address(self._path),
            "path_size": path.size,
            "level_begin": backend.address(self._levels),
            "levels": len(keys),
            "max_document_bytes": rules.max_document_bytes,
            "max_line_bytes": rules.max_line_bytes,
            "options": int(rules.options),
        }

    def launch(self, slot: JsonlSlot, size: int) -> None:
        """Read the first `size` bytes of `slot.raw`: whole lines, a newline at the end."""
        backend, tiles = self.backend, -(-size // slot.tile)
        slot.host_struct[:] = fill(
            JSONL, {**slot.values(), **self.values, "size": size, "tiles": tiles}
        )
        backend.upload(slot.struct, slot.host_struct)
        run_kernels(backend, slot, size)
        backend.download(slot.host_counters, slot.arrays["counters"])
        slot.done = backend.mark()

    def outcome(self, slot: JsonlSlot) -> JsonlOutcome:
        """Wait for a chunk, and return its counts."""
        if slot.done is None:
            raise RuntimeError("the slot was not launched")
        slot.done.synchronize()
        return self.counts(slot)

    @staticmethod
    def counts(slot: JsonlSlot) -> JsonlOutcome:
        """Return the counts of a chunk that somebody has waited for."""
        counts = slot.host_counters
        by_reason = counts[JsonCounter.JSON_REASONS :]
        lines = int(counts[JsonCounter.JSON_LINES])
        unsure = int(counts[JsonCounter.JSON_UNSURE]) + int(by_reason[JsonReason.JSON_UNSURE_LINE])
        return JsonlOutcome(
            lines,
            int(counts[JsonCounter.JSON_DOCUMENTS]),
            int(counts[JsonCounter.JSON_TEXT_BYTES]),
            int(by_reason[JsonReason.JSON_BLANK]),
            int(counts[JsonCounter.JSON_REPAIRED]),
            {r: int(n) for r, n in enumerate(by_reason[: JsonReason.JSON_BLANK]) if n},
            lines <= slot.lines and not unsure,
        )

    def offsets(self, slot: JsonlSlot, outcome: JsonlOutcome) -> NDArray[np.int64]:
        """Return where each document begins in `slot.text`, and the end of the last one."""
        begins = self.backend.to_host(slot.arrays["doc_begin"][: outcome.documents + 1])
        return begins.astype(np.int64)

    def places(
        self, slot: JsonlSlot, outcome: JsonlOutcome
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the line of each document, from 0, and the first byte of that line."""
        return tuple(  # type: ignore[return-value]
            self.backend.to_host(slot.arrays[name][: outcome.documents]).astype(np.int64)
            for name in ("doc_line", "doc_start")
        )

    def line_ends(self, slot: JsonlSlot, outcome: JsonlOutcome) -> NDArray[np.int64]:
        """Return the place of each newline."""
        return self.backend.to_host(slot.arrays["line_end"][: outcome.lines]).astype(np.int64)

    def bad_lines(self, slot: JsonlSlot, outcome: JsonlOutcome) -> NDArray[np.int64]:
        """Return line, begin, length, fault and reason of each bad line, like `read_jsonl`."""
        ends = self.line_ends(slot, outcome)
        reasons, faults = (
            self.backend.to_host(slot.arrays[name][: outcome.lines]).astype(np.int64)
            for name in ("line_reason", "line_fault")
        )
        begins = np.concatenate(([0], ends[:-1] + 1))
        bad = np.flatnonzero(reasons < JsonReason.JSON_BLANK)
        columns = (bad, begins[bad], (ends - begins)[bad], (faults - begins)[bad], reasons[bad])
        return np.stack(columns, axis=1)

"""The kernels from words to ids on the host, given where words begin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from tests.cuda.shim import ShimBackend, build
from tests.reference.split import onig_words

from tokenmill._cuda.layout import BATCH, TABLES, BatchOption, fill
from tokenmill._cuda.seeds import seed_words
from tokenmill._cuda.steps import (
    ADDED_STEPS,
    MARGIN,
    Capacity,
    WordCapacity,
    batch_numbers,
    buffers,
    steps,
    word_buffers,
    word_numbers,
)
from tokenmill._cuda.tables import defines, host_tables, table_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tests.models import Batch

BEFORE = ("clear_batch", "mark_documents", "bounds", *ADDED_STEPS)  # done by hand here
SMALL_TABLES = WordCapacity(1 << 20, 1 << 16, 1 << 20)
PROCESSORS = 2
# Those that these kernels look at: a vocabulary has one library, whatever its split.
MACROS = ("TM_PAIR_SHIFT", "TM_PAIR_MASK", "TM_EXACT", "TM_PIECES", "TM_TILE")


@dataclass(frozen=True)
class Setting:
    """How the kernels are built and run."""

    tile: int = 8192
    words: WordCapacity = SMALL_TABLES
    seeded: bool = True
    sanitize: str = ""
    shuffle: int | None = None


class Result(NamedTuple):
    """What a batch came to."""

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    flags: NDArray[np.uint32]
    counters: NDArray[np.uint32]


@dataclass
class Marks:
    """Documents back to back, and where words and pieces of words begin."""

    text: bytes = b""
    begins: list[int] = field(default_factory=lambda: [0])
    starts: list[int] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)


def mark(documents: Sequence[Sequence[Sequence[bytes]]]) -> Marks:
    """Lay out documents; each is a list of words, each of them a list of pieces."""
    marks, parts, at = Marks(), [], 0
    for document in documents:
        for word in document:
            for i, piece in enumerate(word):
                (marks.cuts if i else []).append(at)
                marks.starts.append(at)
                parts.append(piece)
                at += len(piece)
        marks.begins.append(at)
    marks.text = b"".join(parts)
    return marks


def whole(texts: Sequence[bytes]) -> Marks:
    """Documents that are one word each."""
    return mark([[[text]] if text else [] for text in texts])


def split(pattern: str, texts: Sequence[str]) -> Marks:
    """Documents whose words a pattern finds."""
    return mark([[[word.encode()] for word in onig_words(pattern, text)] for text in texts])


def _bits(places: Sequence[int], words: int) -> NDArray[np.uint32]:
    flags = np.zeros(32 * words, dtype=np.uint8)
    flags[np.asarray(places, dtype=np.int64)] = 1
    return np.packbits(flags, bitorder="little").view(np.uint32)


class WordKernels:
    """Tables on the host library, and batches through them."""

    def __init__(self, folder: Path, device: Mapping[str, Any], setting: Setting) -> None:
        macros = {name: defines(device, setting.tile)[name] for name in MACROS}
        library = build(folder, macros, setting.sanitize, "word_kernels.h")
        self.backend = ShimBackend(library, setting.shuffle)
        self.setting = setting
        self._tables = {
            name: self.backend.asarray(array) for name, array in host_tables(device).items()
        }
        for name, (count, dtype) in word_buffers(setting.words).items():
            self._tables[name] = self.backend.zeros(count, dtype)
        values = {name: self.backend.address(array) for name, array in self._tables.items()}
        values |= table_numbers(device) | word_numbers(setting.words)
        self._struct = self.backend.asarray(fill(TABLES, values))
        if setting.seeded:
            seed_words(self.backend, device, self.address, PROCESSORS)

    @property
    def address(self) -> int:
        return self.backend.address(self._struct)

    @property
    def learnt(self) -> list[int]:
        """How full the word tables are."""
        counts: list[int] = self._tables["learnt"][:4].tolist()
        return counts

    def table(self, name: str) -> NDArray[Any]:
        return self._tables[name]

    def run(
        self, marks: Marks, options: int = BatchOption.LEARN, bits: int = 32, **room: int
    ) -> Result:
        """Encode a batch."""
        capacity = Capacity(
            max(len(marks.text), 1), len(marks.begins) - 1, PROCESSORS, self.setting.tile, **room
        )
        arrays = self._arrays(capacity, marks)
        wanted = np.uint32 if bits == 32 else np.uint16
        poison = np.iinfo(wanted).max
        out = self.backend.asarray(np.full(capacity.id_count + 64, poison, dtype=wanted))
        values = {name: self.backend.address(array) for name, array in arrays.items()}
        values |= batch_numbers(capacity)
        values |= {
            "ids" if bits == 32 else "ids16": self.backend.address(out),
            "text": values["text"] + MARGIN,
            "size": len(marks.text),
            "documents": capacity.documents,
            "tiles": -(-len(marks.text) // self.setting.tile),
            "options": options,
        }
        batch = self.backend.asarray(fill(BATCH, values))
        for step in steps(capacity):
            if step.name not in BEFORE:
                address = self.backend.address(batch)
                self.backend.launch(step.name, step.blocks, step.threads, self.address, address)
        offsets = arrays["doc_ids"].astype(np.int64)
        assert (out[capacity.id_count :] == poison).all(), "written out of bounds"
        assert (out[offsets[-1] :] == poison).all(), "written after the last id"
        ids = out[: offsets[-1]].astype(np.uint32)
        return Result(ids, offsets, arrays["doc_flags"], arrays["counters"])

    def _arrays(self, capacity: Capacity, marks: Marks) -> dict[str, NDArray[Any]]:
        zeros, asarray = self.backend.zeros, self.backend.asarray
        arrays = {name: zeros(*shape) for name, shape in buffers(capacity).items()}
        arrays["text"] = asarray(
            np.pad(np.frombuffer(marks.text, dtype=np.uint8), (MARGIN, 256), constant_values=7)
        )
        arrays["doc_begin"] = asarray(np.array(marks.begins, dtype=np.uint32))
        arrays["doc_ids"] = zeros(len(marks.begins), np.uint32)
        masks = arrays["start_bits"].size
        arrays["start_bits"][:] = _bits(marks.starts, masks)
        arrays["cut_bits"][:] = _bits(marks.cuts, masks)
        ends = marks.begins[1:]
        opened = [begin for begin, end in zip(marks.begins, ends, strict=False) if begin < end]
        arrays["doc_bits"][1 : masks + 1] = _bits(opened, masks)
        tiles = np.asarray(marks.starts, dtype=np.int64) // capacity.tile
        arrays["tile_words"][: capacity.tiles] = np.bincount(tiles, minlength=capacity.tiles)
        return arrays


def batch_of(result: Result) -> Batch:
    return result.ids, result.offsets

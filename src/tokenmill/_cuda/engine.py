"""One tokenizer on one device: its tables, the buffers that batches share, and their launches.

A `Slot` holds what belongs to one batch: its text, its results, its struct. The work between lies
in buffers that all slots share, so the launches of all slots must run on one stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.layout import BATCH, SPLICE, TABLES, fill, places
from tokenmill._cuda.reasons import FLAGS
from tokenmill._cuda.seeds import ROOM_FOR_CHARACTERS, seed_words
from tokenmill._cuda.steps import (
    Capacity,
    Step,
    WordCapacity,
    batch_numbers,
    buffers,
    steps,
    word_buffers,
    word_numbers,
)
from tokenmill._cuda.support import (
    NFC,
    added_prefixes,
    added_texts,
    packed_first_bytes,
    unsafe_bits,
)
from tokenmill._cuda.tables import host_tables, table_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tokenmill._cuda.backend import Backend, Graph, Mark
    from tokenmill._cuda.texts import Part

LONGEST = 1 << 30  # bytes of a batch
SMALLEST = 1 << 20  # buffers are for that many bytes at least
LARGEST_GRAPH = 32 << 20  # the launches of batches up to here are captured once a class
MARGIN_BEFORE, MARGIN_BEHIND = 256, 256  # bytes around a text that can be read
_ALIGNMENT = 256
_FIND_ADDED, _KEEP_REPEATS, _LEARN = 1, 4, 8  # Option in batch.h
_FLAGGED, _ARRIVAL, _ID_COUNT = 8, 9, 12  # Counter in batch.h
_NO_SYNC = 1 << FLAGS.index("no_sync")
_PER_SLOT = ("doc_flags", "counters")
_IN_BATCH, _IN_SPLICE = places(BATCH), places(SPLICE)
_NUMBER = 8  # bytes of a field
_DOCUMENTS = 1024  # a slot has room for that many at least
_SLOT_BYTES = 5  # for each byte of text: itself, and an id


def power_of_two(count: int, least: int = 1) -> int:
    """Return the smallest power of two that is not below either.

    (5, 1) -> 8; (5, 64) -> 64
    """
    return max(least, 1 << max(count - 1, 0).bit_length())


@dataclass(frozen=True)
class Job:
    """How a batch is encoded."""

    with_special: bool  # special tokens in a text are looked for
    bits: int  # of an id: 32 or 16
    keep_repeats: bool = False  # unknown words are merged one by one and not learnt: a measurement


@dataclass(frozen=True)
class Place:
    """Where the offsets of a batch go: into this array, behind `base` ids of earlier batches.

    So many ids stand before and behind each document.
    """

    offsets: Any
    base: int = 0
    before: int = 0
    behind: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a batch: its ids lie in the slot, in `doc_ids` is where documents begin."""

    documents: int
    count: int
    flags: NDArray[np.uint32] | None  # per document; None: all were encoded


class Tables:
    """The tables of a tokenizer on a device, and a struct for either set of added tokens."""

    def __init__(
        self,
        backend: Backend,
        facts: Mapping[str, Any],
        meta: Mapping[str, Any],
        words: WordCapacity,
    ) -> None:
        arrays = {name: backend.asarray(array) for name, array in host_tables(facts).items()}
        arrays |= {name: backend.zeros(*room) for name, room in word_buffers(words).items()}
        if facts["normalizer"] == NFC:
            arrays["unsafe_basic"] = backend.asarray(unsafe_bits())
        values = {name: backend.address(array) for name, array in arrays.items()}
        values |= table_numbers(facts) | word_numbers(words)
        self._kept: list[Any] = [arrays]
        self._structs: dict[bool, Any] = {}
        self.finds_added: dict[bool, bool] = {}
        for special in (True, False):
            texts = added_texts(meta, facts, with_special=special)
            prefixes = added_prefixes(texts, facts)._asdict()
            placed = {name: backend.asarray(array) for name, array in prefixes.items()}
            own = {name: backend.address(array) for name, array in placed.items()}
            count = prefixes["added_prefixes"].size
            first = packed_first_bytes(prefixes["added_first"])
            self._kept.append(placed)
            self.finds_added[special] = count > 0
            self._structs[special] = backend.asarray(
                fill(TABLES, values | own | {"added_count": count, "added_bytes": first})
            )
        self._backend = backend
        self._seed: Callable[[], None] = partial(
            seed_words, backend, facts, self.address(True), backend.processors,
            with_characters=words.entries >= ROOM_FOR_CHARACTERS,
        )  # fmt: skip
        self._seed()

    def forget(self) -> None:
        """Take the word tables back to the vocabulary's own tokens."""
        for name in ("words", "long_slots", "learnt"):
            array = self._kept[0][name]
            self._backend.copy(array, self._backend.zeros(array.size, array.dtype))
        self._seed()

    def address(self, with_special: bool) -> int:
        """Return where the struct lies."""
        return self._backend.address(self._structs[with_special])


class Slot:
    """What belongs to one batch, with room for `size` bytes and `documents`."""

    def __init__(self, backend: Backend, size: int, documents: int) -> None:
        self.size, self.documents = size, documents
        self.memory = backend.zeros(MARGIN_BEFORE + size + MARGIN_BEHIND, np.uint8)
        self.text = self.memory[MARGIN_BEFORE : MARGIN_BEFORE + size]
        self.doc_begin = backend.zeros(documents + 1, np.uint32)
        self.host_begin = backend.pinned(documents + 1, np.uint32)
        self.doc_ids = backend.zeros(documents + 1, np.uint32)
        self.doc_flags = backend.zeros(documents + 1, np.uint32)
        self.counters = backend.zeros(64, np.uint32)
        self.ids = backend.zeros(size, np.uint32)
        # A Batch, and behind it a Splice: one copy for both.
        self.struct = backend.zeros(len(BATCH) + len(SPLICE), np.uint64)
        self.host_struct = backend.pinned(len(BATCH) + len(SPLICE), np.uint64)
        self.host_struct[:] = 0
        self.room: Capacity | None = None  # of the shared buffers that the struct names
        self.host_counters = backend.pinned(64, np.uint32)
        self.graphs: dict[tuple[int, bool], Graph] = {}
        self.here: Any = self.text  # the text of the batch at hand
        self.loaded = (0, 0)  # its bytes and documents
        self.done: Mark | None = None

    def ids16(self) -> Any:
        """Return the memory of the ids as half as wide ones."""
        return self.ids.view(np.uint16)


class Engine:
    """Encodes batches of one tokenizer on one device. Not for several threads at a time."""

    def __init__(
        self,
        backend: Backend,
        facts: Mapping[str, Any],
        meta: Mapping[str, Any],
        *,
        words: WordCapacity | None = None,
        learn: bool = True,
        tile: int = 8192,
    ) -> None:
        self.backend = backend
        self._learn = learn
        self._bounds = "bounds_masks" if facts["rule"]["family"] else "bounds_scan"
        self._base = Capacity(0, 0, backend.processors, tile)
        self._tables = Tables(backend, facts, meta, words or WordCapacity())
        self._work: dict[str, Any] = {}
        self._has_run = False  # kernels are loaded when they first run, which cannot be captured
        self._room = self._capacity(0, 0)

    def _capacity(self, size: int, documents: int) -> Capacity:
        dedupe = min(power_of_two(size // 32, 1 << 12), 1 << 22)
        return replace(self._base, size=size, documents=documents, dedupe=dedupe)

    def forget_words(self) -> None:
        """Forget the words that were learnt; the ids are the same with them and without."""
        self._tables.forget()

    def memory_for(self, size: int, slots: int) -> int:
        """Return the bytes that batches of that size take on the device, in so many slots."""
        room = buffers(self._capacity(power_of_two(size, SMALLEST), _DOCUMENTS))
        work = sum(count * np.dtype(kind).itemsize for count, kind in room.values())
        return work + slots * _SLOT_BYTES * power_of_two(size, SMALLEST)

    def slot(self, size: int, documents: int) -> Slot:
        """Make a slot, and room for its work."""
        size, documents = power_of_two(size, SMALLEST), power_of_two(documents, _DOCUMENTS)
        self._make_room(size)
        return Slot(self.backend, size, documents)

    def _make_room(self, size: int) -> None:
        """Make the buffers that batches of that size need, unless there are such."""
        if size <= self._room.size:
            return
        # Before the new ones are made: there may be no memory for both. And if there is too little
        # for the new ones, there are none, which the next batch must find like this.
        self._work = {}
        self._room = self._capacity(0, 0)
        room = self._capacity(size, 0)
        self._work = {
            name: self.backend.zeros(*shape)
            for name, shape in buffers(room).items()
            if name not in _PER_SLOT
        }
        self._room = room

    def load(self, slot: Slot, part: Part, begin: int, end: int) -> None:
        """Bring documents of a part into a slot, or leave them where they are if that will do."""
        backend = self.backend
        offsets = part.offsets[begin : end + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        # From pinned memory: any other copy would wait for those before it on the stream.
        begins = slot.host_begin[: offsets.size]
        np.subtract(offsets, first, out=begins, casting="unsafe")
        backend.upload(slot.doc_begin[: offsets.size], begins)
        text = part.data[first:last]
        slot.here, slot.loaded = slot.text, (last - first, end - begin)
        if not part.on_device:
            backend.upload(slot.text[: text.size], text)
        elif backend.address(text) % _ALIGNMENT == 0 and backend.has_room(
            text, MARGIN_BEFORE, MARGIN_BEHIND
        ):
            slot.here = text
        else:
            backend.copy(slot.text[: text.size], text)

    def launch(self, slot: Slot, job: Job, place: Place | None = None) -> None:
        """Encode what is in a slot, and write the offsets of its documents if they have a place."""
        size, documents = slot.loaded
        self._fill(slot, job, place)
        step = power_of_two(size, SMALLEST)
        fits = step <= min(LARGEST_GRAPH, slot.size) and documents <= self._documents_of(step)
        if fits and self._has_run:
            key = (step, job.with_special)
            if key not in slot.graphs:
                grid = self._capacity(step, self._documents_of(step))
                slot.graphs[key] = self.backend.capture(lambda: self._run(grid, slot, job))
            slot.graphs[key].launch()
        else:
            self._run(self._capacity(size, documents), slot, job)
            self._has_run = True
        slot.done = self.backend.mark()

    @staticmethod
    def _documents_of(size: int) -> int:
        """Return how many documents the captured launches of a class are for."""
        return size // 256

    def run_steps(self, slot: Slot, job: Job) -> Iterator[str]:
        """Launch the kernels of a batch one by one, each when the next one is asked for."""
        self._fill(slot, job, None)
        self.backend.upload(slot.struct, slot.host_struct)
        for step in self._steps(self._capacity(*slot.loaded)):
            self._launch(step, slot, job)
            yield step.name

    def _run(self, grid: Capacity, slot: Slot, job: Job) -> None:
        """Bring the structs to the device, launch the kernels and ask for the counters."""
        self.backend.upload(slot.struct, slot.host_struct)
        together: list[Callable[[], None]] = []
        for step in self._steps(grid):
            if not step.beside:
                self.backend.beside(together)
                together = []
            together.append(partial(self._launch, step, slot, job))
        self.backend.beside(together)
        self.backend.download(slot.host_counters, slot.counters)

    def _steps(self, grid: Capacity) -> list[Step]:
        found = steps(grid)
        at = next(i for i, step in enumerate(found) if step.name == "bounds")
        # A thread for a word of a mask.
        found[at] = replace(found[at], name=self._bounds, threads=grid.tile // 32)
        return [*found, Step("place_offsets", grid.documents // 256 + 1, 256)]

    def _launch(self, step: Step, slot: Slot, job: Job) -> None:
        struct = self.backend.address(slot.struct)
        if step.name == "place_offsets":  # it reads the other struct
            struct += _NUMBER * len(BATCH)
        tables = self._tables.address(job.with_special)
        self.backend.launch(step.name, step.blocks, step.threads, tables, struct)

    def _fill(self, slot: Slot, job: Job, place: Place | None) -> None:
        """Write both structs of a slot: what stays as it is once, the rest for every batch."""
        self._make_room(slot.size)
        address = self.backend.address
        batch, splice = slot.host_struct[: len(BATCH)], slot.host_struct[len(BATCH) :]
        if slot.room is not self._room:
            slot.room = self._room
            batch[:] = fill(BATCH, self._fixed(slot))
            splice[_IN_SPLICE["doc_ids"]] = address(slot.doc_ids)
        size, documents = slot.loaded
        options = _FIND_ADDED * self._tables.finds_added[job.with_special]
        options |= _KEEP_REPEATS if job.keep_repeats else _LEARN * self._learn
        is_half = job.bits == 16  # noqa: PLR2004
        for name, value in (
            ("text", address(slot.here)), ("size", size), ("documents", documents),
            ("tiles", -(-size // self._base.tile)), ("options", options),
            ("dedupe_mask", self._capacity(size, 0).dedupe - 1),
            ("ids", 0 if is_half else address(slot.ids)),
            ("ids16", address(slot.ids) if is_half else 0),
        ):  # fmt: skip
            batch[_IN_BATCH[name]] = value
        splice[_IN_SPLICE["documents"]] = documents
        splice[_IN_SPLICE["out_offsets"]] = 0 if place is None else address(place.offsets)
        if place is not None:
            splice[_IN_SPLICE["base"]] = place.base
            splice[_IN_SPLICE["before_count"]] = place.before
            splice[_IN_SPLICE["behind_count"]] = place.behind

    def _fixed(self, slot: Slot) -> dict[str, int]:
        address = self.backend.address
        own = ("doc_begin", "doc_ids", *_PER_SLOT)
        return {
            **batch_numbers(self._room),
            **{name: address(array) for name, array in self._work.items()},
            **{name: address(getattr(slot, name)) for name in own},
            "id_capacity": slot.size,
        }

    def outcome(self, slot: Slot) -> Outcome:
        """Wait for a batch, which is the only wait, and say what became of it."""
        if slot.done is None:
            raise RuntimeError("the slot was not launched")
        slot.done.synchronize()
        documents = slot.loaded[1]
        flags = None
        if slot.host_counters[_ARRIVAL]:  # a fault of the kernels: nothing of the batch counts
            flags = np.full(documents, _NO_SYNC, np.uint32)
        elif slot.host_counters[_FLAGGED]:
            flags = self.backend.to_host(slot.doc_flags[:documents])
        return Outcome(documents, int(slot.host_counters[_ID_COUNT]), flags)

"""One tokenizer on one device: its tables, the buffers that batches share, and their launches.

A `Slot` holds the text, the results and the structs of one batch. Intermediate results are in
buffers that all slots share, so the launches of all slots must run on one stream.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.device_tables import DeviceTables
from tokenmill._cuda.layout import (
    BATCH,
    SPLICE,
    BatchCounter,
    BatchOption,
    DocumentFlag,
    fill,
    places,
)
from tokenmill._cuda.slot import MARGIN_AFTER, MARGIN_BEFORE, BatchOutcome, Slot
from tokenmill._cuda.steps import (
    Capacity,
    Step,
    WordCapacity,
    batch_numbers,
    buffers,
    steps,
)
from tokenmill._cuda.tables import arena_step, bounds_kernel, stage_count
from tokenmill._errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import DeviceBackend, Graph
    from tokenmill._cuda.slot import BatchJob, OffsetsTarget
    from tokenmill._cuda.texts import TextPart

LONGEST = 1 << 30  # bytes of a batch
SMALLEST = 1 << 20  # buffers are for that many bytes at least
_GRAPH_SIZES = (1 << 14, 1 << 16, 1 << 18)  # bytes; then powers of two from SMALLEST on
_TRANSFER_BYTES = 256 * 16  # a thread of a block moves 16 at a time
LARGEST_GRAPH = 32 << 20  # launches for larger batches are not captured
_ALIGNMENT = 256
_PER_SLOT = ("doc_flags", "counters")
_IN_BATCH, _IN_SPLICE = places(BATCH), places(SPLICE)
_TEXT, _SIZE, _DOCUMENTS_AT, _TILES, _OPTIONS, _DEDUPE, _IDS, _IDS16 = (
    _IN_BATCH[name]
    for name in ("text", "size", "documents", "tiles", "options", "dedupe_mask", "ids", "ids16")
)
_NUMBER = 8  # bytes of a field
_DOCUMENTS = 1024  # a slot has room for that many at least
_SLOT_BYTES = 5  # for each byte of text: itself, and an id


def power_of_two(count: int, least: int = 1) -> int:
    """Return the smallest power of two that is at least `count` and `least`.

    (5, 1) -> 8; (5, 64) -> 64
    """
    return max(least, 1 << max(count - 1, 0).bit_length())


def dedupe_entries(size: int) -> int:
    """Return the entries of the dedupe table of a batch of that many bytes."""
    return min(power_of_two(size // 32, 1 << 12), 1 << 22)


def graph_size(size: int) -> int:
    """Return the size that captured launches for a batch are for.

    5 -> 16384; 300_000 -> 1048576; 1_100_000 -> 2097152
    """
    return next((step for step in _GRAPH_SIZES if size <= step), power_of_two(size, SMALLEST))


def host_address(array: NDArray[Any]) -> int:
    """Return the address of an array of the host."""
    return int(array.__array_interface__["data"][0])


class DeviceEngine:
    """Encodes batches of one tokenizer on one device. One thread at a time may use it."""

    def __init__(
        self,
        backend: DeviceBackend,
        facts: Mapping[str, Any],
        *,
        words: WordCapacity | None = None,
        learn: bool = True,
        tile: int = 8192,
    ) -> None:
        self.backend = backend
        self._learn = learn
        self._bounds = bounds_kernel(facts)
        self._stages = stage_count(facts)
        self._base = Capacity(0, 0, backend.processors, tile, arena_step=arena_step(facts))
        self._tables = DeviceTables(backend, facts, words or WordCapacity())
        self._work: dict[str, Any] = {}
        # Kernels load on their first run, which cannot be captured: with and without transfers.
        self._has_run = {False: False, True: False}
        self._room = self._capacity(0, 0)
        self._known_options: dict[BatchJob, int] = {}
        self._held: list[tuple[Slot, BatchJob]] = []

    @property
    def tile(self) -> int:
        """The bytes of a tile."""
        return self._base.tile

    def _capacity(self, size: int, documents: int) -> Capacity:
        dedupe = dedupe_entries(size)
        return replace(self._base, size=size, documents=documents, dedupe=dedupe)

    def _grid(self, size: int, documents: int) -> Capacity:
        """Return what the launches for batches up to a size are for: few blocks where it is small.

        Thousands of blocks without work take longer than a kernel that has some.
        """
        enough = min(max(size // self._base.tile, 2), self._base.processors)
        return replace(self._capacity(size, documents), processors=enough)

    def forget_words(self) -> None:
        """Forget learnt words; the ids are the same with and without them."""
        self._tables.forget()

    def memory_for(self, size: int, slots: int) -> int:
        """Return the bytes of device memory for that many slots of batches of that size."""
        room = buffers(self._capacity(power_of_two(size, SMALLEST), _DOCUMENTS))
        work = sum(count * np.dtype(kind).itemsize for count, kind in room.values())
        return work + slots * _SLOT_BYTES * power_of_two(size, SMALLEST)

    def slot(self, size: int, documents: int) -> Slot:
        """Make a slot, and the buffers that its batches need."""
        size, documents = power_of_two(size, SMALLEST), power_of_two(documents, _DOCUMENTS)
        self._make_room(size)
        return Slot(self.backend, size, documents)

    def _make_room(self, size: int) -> None:
        """Make the buffers that batches of that size need, unless they exist."""
        if size <= self._room.size:
            return
        # Free the old ones first: there may not be memory for both. If the new ones do not fit,
        # none are left, and the next batch must see that.
        before = self._room.size
        self._work = {}
        self._room = self._capacity(0, 0)
        try:
            self._get_room(size)
        except DeviceError:
            if self._held:  # their launches need some: there was memory for that
                self._get_room(before)
            raise
        finally:
            for slot, job in self._held:
                self._fill(slot, job, None)

    def _get_room(self, size: int) -> None:
        room = self._capacity(size, 0)
        self._work = {
            name: self.backend.zeros(*shape)
            for name, shape in buffers(room).items()
            if name not in _PER_SLOT
        }
        self._room = room

    def hold(self, slot: Slot, job: BatchJob) -> None:
        """Keep the struct of a slot complete for recorded work, whatever happens to buffers."""
        self._held.append((slot, job))
        self._fill(slot, job, None)

    def record(self, slot: Slot, job: BatchJob, size: int, documents: int) -> Graph:
        """Record the launches for batches of up to a size; who launches them fills the struct."""
        grid = self._grid(size, documents)
        if not self._has_run[False]:  # on no text
            self._run(grid, slot, job)
            self.backend.mark().synchronize()
            self._has_run[False] = True
        return self.backend.capture(lambda: self._run(grid, slot, job))

    def load(self, slot: Slot, part: TextPart, begin: int, end: int) -> None:
        """Bring documents of a part into a slot; text on the device is used in place if it can."""
        backend = self.backend
        offsets = part.offsets[begin : end + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        # From pinned memory: any other copy would wait for earlier work on the stream.
        begins = slot.host_begin[: offsets.size]
        np.subtract(offsets, first, out=begins, casting="unsafe")
        backend.upload(slot.doc_begin[: offsets.size], begins)
        text = part.data[first:last]
        slot.here, slot.loaded = slot.text, (last - first, end - begin)
        if not part.on_device:
            backend.upload(slot.text[: text.size], text)
        elif backend.address(text) % _ALIGNMENT == 0 and backend.has_room(
            text, MARGIN_BEFORE, MARGIN_AFTER
        ):
            slot.here = text
        else:
            backend.copy(slot.text[: text.size], text)

    def launch(
        self,
        slot: Slot,
        job: BatchJob,
        target: OffsetsTarget | None = None,
        *,
        by_kernels: bool = False,
    ) -> None:
        """Encode the batch in a slot, and write the offsets of its documents to a target.

        `by_kernels`: the Transfer of the slot says where on the host its text comes from and its
        ids go to, and kernels move both.
        """
        size, documents = slot.loaded
        self._fill(slot, job, target)
        step = graph_size(size)
        fits = step <= min(LARGEST_GRAPH, slot.size) and documents <= self._documents_of(step)
        run = self._run_short if by_kernels else self._run
        if fits and self._has_run[by_kernels]:
            key = (step, job.with_special, by_kernels)
            if key not in slot.graphs:
                grid = self._grid(step, self._documents_of(step))
                slot.graphs[key] = self.backend.capture(lambda: run(grid, slot, job))
            slot.graphs[key].launch()
        else:
            run(self._capacity(size, documents), slot, job)
            self._has_run[by_kernels] = True
        slot.done = self.backend.mark(slot.done)

    def place_offsets(self, slot: Slot, target: OffsetsTarget) -> None:
        """Write the offsets of an encoded batch, whose launches did not know where they go."""
        self._fill_splice(slot, target)
        self.backend.upload(slot.struct, slot.host_struct)
        self._launch(self._place_step(slot.loaded[1]), slot, None)

    @staticmethod
    def _place_step(documents: int) -> Step:
        return Step("place_offsets", documents // 256 + 1, 256)

    @staticmethod
    def _documents_of(size: int) -> int:
        """Return how many documents the captured launches for batches of that size allow."""
        return max(size // 256, 64)

    def run_steps(self, slot: Slot, job: BatchJob) -> Iterator[str]:
        """Launch the kernels of a batch one by one, and yield the name of each."""
        self._fill(slot, job, None)
        self.backend.upload(slot.struct, slot.host_struct)
        for step in self._steps(self._capacity(*slot.loaded), job):
            self._launch(step, slot, job)
            yield step.name

    def _run(self, grid: Capacity, slot: Slot, job: BatchJob) -> None:
        """Upload the structs, launch the kernels and download the counters."""
        self.backend.upload(slot.struct, slot.host_struct)
        self._run_all(self._steps(grid, job), slot, job)
        self.backend.download(slot.host_counters, slot.counters)

    def _run_short(self, grid: Capacity, slot: Slot, job: BatchJob) -> None:
        """Launch the kernels between those that fetch the text and bring the ids."""
        places = _NUMBER * (len(BATCH) + len(SPLICE))
        blocks = 1 + min(max(grid.size // _TRANSFER_BYTES, 1), 64)
        here, there = host_address(slot.host_struct), self.backend.address(slot.struct)
        self.backend.launch("arrive", blocks, 256, 0, here + places)
        self._run_all(self._steps(grid, job)[:-1], slot, job)  # the host adds up offsets
        self.backend.launch("deliver", blocks, 256, 0, there + places)

    def _run_all(self, found: list[Step], slot: Slot, job: BatchJob) -> None:
        group: list[Callable[[], None]] = []
        for step in found:
            if not step.with_previous:
                self.backend.together(group)
                group = []
            group.append(partial(self._launch, step, slot, job))
        self.backend.together(group)

    def _steps(self, grid: Capacity, job: BatchJob) -> list[Step]:
        left_out = self._tables.steps_left_out(job.with_special)
        found = [step for step in steps(grid) if step.name not in left_out]
        at = next(i for i, step in enumerate(found) if step.name == "bounds")
        # A thread for a word of a mask.
        found[at] = replace(found[at], name=self._bounds, threads=grid.tile // 32)
        scan = next(i for i, step in enumerate(found) if step.name == "scan_words")
        found[scan:scan] = [
            replace(found[at], name=f"bounds_stage_{number}") for number in range(1, self._stages)
        ]
        return [*found, self._place_step(grid.documents)]

    def _launch(self, step: Step, slot: Slot, job: BatchJob | None) -> None:
        struct = self.backend.address(slot.struct)
        if step.name == "place_offsets":  # it reads the Splice, which follows the Batch
            struct += _NUMBER * len(BATCH)
        tables = 0 if job is None else self._tables.address(job.with_special)
        self.backend.launch(step.name, step.blocks, step.threads, tables, struct)

    def _fill(self, slot: Slot, job: BatchJob, target: OffsetsTarget | None) -> None:
        """Write both structs of a slot: constant fields once, the others for every batch."""
        self._make_room(slot.size)
        batch = slot.host_struct
        if slot.room is not self._room:
            slot.room = self._room
            batch[: len(BATCH)] = fill(BATCH, self._constants(slot))
            slot.splice[_IN_SPLICE["doc_ids"]] = self.backend.address(slot.doc_ids)
        size, documents = slot.loaded
        text, ids = slot.addresses
        batch[_TEXT] = text if slot.here is slot.text else self.backend.address(slot.here)
        batch[_SIZE], batch[_DOCUMENTS_AT] = size, documents
        batch[_TILES] = -(-size // self._base.tile)
        batch[_OPTIONS] = self._options(job)
        batch[_DEDUPE] = dedupe_entries(size) - 1
        batch[_IDS], batch[_IDS16] = (0, ids) if job.is_half else (ids, 0)
        self._fill_splice(slot, target)

    def _fill_splice(self, slot: Slot, target: OffsetsTarget | None) -> None:
        splice = slot.splice
        splice[_IN_SPLICE["documents"]] = slot.loaded[1]
        if target is None:
            splice[_IN_SPLICE["out_offsets"]] = 0
            return
        splice[_IN_SPLICE["out_offsets"]] = self.backend.address(target.array)
        splice[_IN_SPLICE["base"]] = target.base
        splice[_IN_SPLICE["before_count"]] = target.before
        splice[_IN_SPLICE["after_count"]] = target.after

    def _options(self, job: BatchJob) -> int:
        found = self._known_options.get(job)
        if found is None:
            options = BatchOption(0)
            if self._tables.finds_added[job.with_special]:
                options |= BatchOption.FIND_ADDED
            if not job.with_special:
                options |= BatchOption.SKIP_SPECIAL
            if job.raises_special:
                options |= BatchOption.RAISE_SPECIAL
            if job.keep_repeats:
                options |= BatchOption.KEEP_REPEATS
            elif self._learn:
                options |= BatchOption.LEARN
            found = self._known_options[job] = int(options)
        return found

    def _constants(self, slot: Slot) -> dict[str, int]:
        address = self.backend.address
        own = ("doc_begin", "doc_ids", *_PER_SLOT)
        return {
            **batch_numbers(self._room),
            **{name: address(array) for name, array in self._work.items()},
            **{name: address(getattr(slot, name)) for name in own},
            "id_capacity": slot.size,
        }

    def outcome(self, slot: Slot) -> BatchOutcome:
        """Wait for a batch (the only wait), and return its counts."""
        if slot.done is None:
            raise RuntimeError("the slot was not launched")
        slot.done.synchronize()
        documents, counters = slot.loaded[1], slot.host_counters
        flags = None
        if counters[BatchCounter.ARRIVAL]:  # a bug in the kernels: nothing of the batch is valid
            flags = np.full(documents, DocumentFlag.NO_SYNC, np.uint32)
        elif counters[BatchCounter.FLAGGED]:
            flags = self.backend.to_host(slot.doc_flags[:documents])
        return BatchOutcome(documents, int(counters[BatchCounter.ID_COUNT]), flags)

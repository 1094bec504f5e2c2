"""One small batch: a single graph to launch, and a single wait.

Kernels fetch the text from pinned memory and write the ids to pinned memory, so nothing is copied
or allocated around the graph. Ids that are many stay in that memory: it is the result. If the
result is wanted on the device, only counts and offsets come to the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.engine import graph_size, host_address
from tokenmill._cuda.fallback import NO_DOCUMENTS
from tokenmill._cuda.layout import TRANSFER, places
from tokenmill._cuda.slot import STRUCT_WORDS
from tokenmill._cuda.splice import EncodedSlot, frame_all, splice_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._core import CopyCrew
    from tokenmill._cuda.chunks import Chunk
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.lane import Lane
    from tokenmill._cuda.pinned_pool import PinnedPool
    from tokenmill._cuda.sinks import EncodeCall
    from tokenmill._cuda.slot import BatchOutcome

LARGEST = 8 << 20  # bytes of text
MOST_DOCUMENTS = 4096
_COPIED = 1 << 14  # ids: fewer are copied out of the lane's memory
_QUAD = 8  # ids: 16 bytes of them, or 32, are aligned
_AT = places(TRANSFER)
_BEGIN_COUNT, _SIZE, _IDS_TO, _ID_BYTES, _ID_ROOM = (
    _AT[name] for name in ("begin_count", "size", "ids_to", "id_bytes", "id_room")
)

Result = tuple["NDArray[Any]", "NDArray[np.int64]"]


class ShortWay:
    """Encodes chunks together by one graph. One thread at a time may use it."""

    def __init__(self, engine: DeviceEngine, crew: CopyCrew, pool: PinnedPool) -> None:
        self._engine, self._crew, self._pool = engine, crew, pool
        self._lane: Lane | None = None  # whose addresses are in its Transfer

    def encode(self, lane: Lane, chunks: Sequence[Chunk], call: EncodeCall) -> Result | None:
        """Return ids and offsets on the host of all chunks; None for several that need care."""
        slot, special = lane.slot, call.special
        size, broken = self._load(lane, chunks)
        ids = self._room(lane, size, call)
        shift = _round_up(special.before.size)
        transfer = slot.transfer
        transfer[_IDS_TO] = host_address(ids) + shift * ids.itemsize
        transfer[_ID_BYTES] = ids.itemsize
        transfer[_ID_ROOM] = ids.size - shift - _round_up(special.after.size)
        outcome = self._run(lane, call)
        if outcome.flags is None and not broken.size and outcome.id_count <= transfer[_ID_ROOM]:
            return self._framed(lane, ids, outcome, call)
        if len(chunks) > 1:
            return None
        spliced, offsets = self._spliced(lane, chunks[0], outcome, broken, call)
        return self._engine.backend.to_host(spliced), offsets

    def encode_there(self, lane: Lane, chunk: Chunk, call: EncodeCall) -> tuple[Any, Any]:
        """Return ids and offsets of a chunk on the device.

        The ids are copied once their number is known: until then the graph leaves them in the slot.
        """
        backend, slot = self._engine.backend, lane.slot
        _, broken = self._load(lane, [chunk])
        slot.transfer[_ID_ROOM] = 0
        slot.transfer[_IDS_TO], slot.transfer[_ID_BYTES] = host_address(lane.doc_ids), 4
        outcome = self._run(lane, call)
        ids, offsets = self._spliced(lane, chunk, outcome, broken, call)
        placed = backend.asarray(offsets)
        lane.used = backend.mark(lane.used)
        return ids, placed

    def _load(self, lane: Lane, chunks: Sequence[Chunk]) -> tuple[int, NDArray[np.int64]]:
        """Bring texts into the lane; return their bytes, and documents with lone surrogates."""
        slot = lane.slot
        if lane is not self._lane:
            self._fill(lane)
            self._lane = lane
        size, documents, broken = self._gather(lane, chunks)
        slot.here, slot.loaded = slot.text, (size, documents)
        slot.transfer[_BEGIN_COUNT], slot.transfer[_SIZE] = documents + 1, size
        return size, broken

    def _run(self, lane: Lane, call: EncodeCall) -> BatchOutcome:
        self._engine.launch(lane.slot, call.job, by_kernels=True)
        return self._engine.outcome(lane.slot)

    def _gather(self, lane: Lane, chunks: Sequence[Chunk]) -> tuple[int, int, NDArray[np.int64]]:
        """Bring all chunks into the lane; return bytes, documents, and those with surrogates."""
        size = documents = 0
        broken = NO_DOCUMENTS
        begins = lane.slot.host_begin
        for chunk in chunks:
            lane.begin_gather(chunk, self._crew, size)
            count = chunk.end - chunk.begin
            if count == 1:  # whole arrays would take longer than their two numbers
                begins[documents], begins[documents + 1] = size, size + chunk.size
            else:
                offsets = chunk.part.offsets[chunk.begin : chunk.end + 1]
                own = begins[documents : documents + count + 1]
                np.subtract(offsets, offsets[0] - size, out=own, casting="unsafe")
            size, documents = size + chunk.size, documents + count
            found = lane.end_gather(chunk, self._crew)
            broken = found if found.size else broken
        return size, documents, broken

    def _fill(self, lane: Lane) -> None:
        """Write the addresses that stay the same for a lane."""
        slot, address = lane.slot, self._engine.backend.address
        for name, value in (
            ("structs_from", host_address(slot.host_struct)), ("structs", address(slot.struct)),
            ("struct_words", STRUCT_WORDS), ("begins_from", host_address(slot.host_begin)),
            ("begins", address(slot.doc_begin)), ("text_from", host_address(lane.text)),
            ("text", address(slot.text)), ("counters", address(slot.counters)),
            ("counters_to", host_address(slot.host_counters)), ("ids", address(slot.ids)),
            ("doc_ids", address(slot.doc_ids)), ("doc_ids_to", host_address(lane.doc_ids)),
        ):  # fmt: skip
            slot.transfer[_AT[name]] = value

    def _room(self, lane: Lane, size: int, call: EncodeCall) -> NDArray[Any]:
        """Return pinned memory for the ids of a text: of the lane, or new for a long one."""
        around = _round_up(call.special.before.size) + _round_up(call.special.after.size)
        if size <= _COPIED:
            return lane.ids_for(_COPIED + around + _QUAD, call.job.dtype)
        # Half an id for a byte is more than usual texts have.
        room = graph_size(size) // 2 + around + _QUAD
        dtype = np.dtype(call.job.dtype)
        memory = self._pool.take(room * dtype.itemsize)
        if memory is None:
            return lane.ids_for(room, dtype)
        ids: NDArray[Any] = memory.view(dtype)
        return ids[:room]

    @staticmethod
    def _framed(lane: Lane, ids: NDArray[Any], outcome: BatchOutcome, call: EncodeCall) -> Result:
        """Return what the graph delivered, with the ids around documents."""
        special, count, documents = call.special, outcome.id_count, outcome.documents
        offsets = lane.doc_ids[: documents + 1].astype(np.int64)
        shift = _round_up(special.before.size)
        if documents > 1 and special.size:
            return frame_all(ids[shift : shift + count], offsets, special)
        begin, end = shift - special.before.size, shift + count + special.after.size
        ids[begin:shift] = special.before
        ids[shift + count : end] = special.after
        offsets[-1] += special.size
        found = ids[begin:end]
        is_lanes = lane.owns(ids)
        return found.copy() if is_lanes or found.size <= _COPIED else found, offsets

    def _spliced(
        self,
        lane: Lane,
        chunk: Chunk,
        outcome: BatchOutcome,
        broken: NDArray[np.int64],
        call: EncodeCall,
    ) -> tuple[Any, NDArray[np.int64]]:
        """Return ids on the device, those of the CPU included, and their offsets."""
        backend, special = self._engine.backend, call.special
        replaced = call.cpu.replace(backend, chunk.part, chunk.begin, outcome, broken)
        batch = EncodedSlot(lane.slot, outcome, replaced)
        spliced = splice_batch(backend, batch, special, None, call.job)
        offsets = spliced.begins
        if offsets is None:
            offsets = lane.doc_ids[: outcome.documents + 1].astype(np.int64)
            offsets += special.size * np.arange(offsets.size)
        return spliced.ids, offsets


def _round_up(count: int) -> int:
    """Return the places of so many ids, in whole quads: what follows them is aligned."""
    return -(-count // _QUAD) * _QUAD

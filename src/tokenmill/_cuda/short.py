"""One small batch from host to host: a single graph to launch, and a single wait.

Kernels fetch the text from pinned memory and write the ids to pinned memory, so nothing is copied
or allocated around the graph. Ids that are many stay in that memory: it is the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.engine import graph_size, host_address
from tokenmill._cuda.layout import TRANSFER, places
from tokenmill._cuda.slot import STRUCT_WORDS
from tokenmill._cuda.splice import EncodedSlot, splice_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._core import Crew
    from tokenmill._cuda.engine import DeviceEngine
    from tokenmill._cuda.lane import Lane
    from tokenmill._cuda.sinks import Chunk, EncodeCall
    from tokenmill._cuda.slot import BatchOutcome

LARGEST = 8 << 20  # bytes of text
MOST_DOCUMENTS = 4096
_COPIED = 1 << 14  # ids: fewer are copied out of the lane's memory
_QUAD = 8  # ids: 16 bytes of them, or 32, are aligned
_AT = places(TRANSFER)

Result = tuple["NDArray[Any]", "NDArray[np.int64]"]


class ShortWay:
    """Encodes a chunk by one graph. One thread at a time may use it."""

    def __init__(self, engine: DeviceEngine, crew: Crew) -> None:
        self._engine, self._crew = engine, crew
        self._lane: Lane | None = None  # whose addresses are in its Transfer

    def encode(self, lane: Lane, chunk: Chunk, call: EncodeCall) -> Result:
        """Return ids and offsets on the host."""
        slot = lane.slot
        if lane is not self._lane:
            self._fill(lane)
            self._lane = lane
        broken = lane.gather(chunk, self._crew)
        offsets = chunk.part.offsets[chunk.begin : chunk.end + 1]
        np.subtract(offsets, offsets[0], out=slot.host_begin[: offsets.size], casting="unsafe")
        slot.here, slot.loaded = slot.text, (chunk.size, offsets.size - 1)
        ids = self._room(lane, chunk.size, call)
        shift = _round_up(call.special.before.size)
        transfer = slot.transfer
        transfer[_AT["begin_count"]] = offsets.size
        transfer[_AT["size"]] = chunk.size
        transfer[_AT["ids_to"]] = host_address(ids) + shift * ids.itemsize
        transfer[_AT["id_bytes"]] = ids.itemsize
        transfer[_AT["id_room"]] = ids.size - shift - _round_up(call.special.after.size)
        self._engine.launch(slot, call.job, by_kernels=True)
        outcome = self._engine.outcome(slot)
        if outcome.flags is None and not broken.size:
            found = self._framed(lane, ids, outcome, call)
            if found is not None:
                return found
        return self._spliced(lane, chunk, outcome, broken, call)

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
        return self._engine.backend.pinned(room, call.job.dtype)

    def _framed(
        self, lane: Lane, ids: NDArray[Any], outcome: BatchOutcome, call: EncodeCall
    ) -> Result | None:
        """Return what the graph delivered; None if it had too little room, or is in pieces."""
        special, count = call.special, outcome.id_count
        if special.size and outcome.documents != 1:
            return None
        shift = _round_up(special.before.size)
        end = shift + count + special.after.size
        if end > ids.size:
            return None
        begin = shift - special.before.size
        ids[begin:shift] = special.before
        ids[shift + count : end] = special.after
        found = ids[begin:end]
        offsets = lane.doc_ids[: outcome.documents + 1].astype(np.int64)
        offsets[-1] += special.size
        return found.copy() if count <= _COPIED else found, offsets

    def _spliced(
        self,
        lane: Lane,
        chunk: Chunk,
        outcome: BatchOutcome,
        broken: NDArray[np.int64],
        call: EncodeCall,
    ) -> Result:
        """Return ids of which some come from the CPU, or that are more than usual."""
        backend, special = self._engine.backend, call.special
        replaced = call.cpu.replace(backend, chunk.part, chunk.begin, outcome, broken)
        batch = EncodedSlot(lane.slot, outcome, replaced)
        spliced = splice_batch(backend, batch, special, None, call.job)
        offsets = spliced.begins
        if offsets is None:
            offsets = lane.doc_ids[: outcome.documents + 1].astype(np.int64)
            offsets += special.size * np.arange(offsets.size)
        return backend.to_host(spliced.ids), offsets


def _round_up(count: int) -> int:
    """Return the places of so many ids, in whole quads: what follows them is aligned."""
    return -(-count // _QUAD) * _QUAD

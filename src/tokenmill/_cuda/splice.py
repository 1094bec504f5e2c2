"""Puts the ids of a batch together: those of the device, of the CPU, and those around documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.layout import SPLICE, fill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tokenmill._cuda.fallback import Replaced
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._cuda.slot import BatchJob, BatchOutcome, OffsetsTarget, Slot

_OFFSETS_PER_BLOCK, _IDS_PER_BLOCK, _THREADS = 256, 4096, 256  # splice.h
_MOST_BLOCKS = 1 << 16


@dataclass(frozen=True)
class SpecialIds:
    """Ids that go before and after every document."""

    before: NDArray[np.uint32]
    after: NDArray[np.uint32]

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.before.size + self.after.size)


NO_SPECIAL_IDS = SpecialIds(np.empty(0, np.uint32), np.empty(0, np.uint32))


def special_ids(facts: Mapping[str, Any]) -> SpecialIds:
    """Return what a model puts around a text; `facts` are its `device_tables`."""
    return SpecialIds(facts["prefix_ids"], facts["suffix_ids"])


@dataclass(frozen=True)
class EncodedSlot:
    """One encoded batch: its slot, its counts, and what the CPU encoded of it."""

    slot: Slot
    outcome: BatchOutcome
    replaced: Replaced | None


def lengths_of(
    doc_ids: NDArray[Any], replaced: Replaced | None, special: SpecialIds
) -> NDArray[np.int64]:
    """Return how many ids each document of a batch has in the result."""
    lengths = np.diff(doc_ids.astype(np.int64))
    if replaced is not None:
        lengths[replaced.documents] = np.diff(replaced.offsets)
    return np.asarray(lengths + special.size, np.int64)


@dataclass(frozen=True)
class SplicedIds:
    """Ids on the device. `begins` are those of documents, if the host had to find them out."""

    ids: Any
    begins: NDArray[np.int64] | None = None


def splice_batch(
    backend: DeviceBackend,
    batch: EncodedSlot,
    special: SpecialIds,
    target: OffsetsTarget | None,
    job: BatchJob,
) -> SplicedIds:
    """Return the ids of a batch in an array of their own.

    Where the CPU encoded documents, the offsets are written to the target again: the launches of
    the batch did not know the lengths of those documents.
    """
    slot, outcome = batch.slot, batch.outcome
    total = outcome.id_count + special.size * outcome.documents
    if batch.replaced is None and not special.size:
        ids = backend.empty(total, job.dtype)
        backend.copy(ids, slot.ids_of(job)[:total])
        return SplicedIds(ids)
    arrays: dict[str, NDArray[Any]] = {"before": special.before, "after": special.after}
    if batch.replaced is not None:
        doc_ids = backend.to_host(slot.doc_ids[: outcome.documents + 1])
        arrays |= _origins(doc_ids, batch.replaced, special)
        total = int(arrays["out_begin"][-1])
    kept = {name: backend.asarray(array) for name, array in arrays.items()}
    ids = backend.empty(total, job.dtype)
    values = {name: backend.address(array) for name, array in kept.items()} | {
        "documents": outcome.documents,
        "total": total,
        "base": 0 if target is None else target.base,
        "before_count": special.before.size,
        "after_count": special.after.size,
        "doc_ids": backend.address(slot.doc_ids),
        "ids16" if job.is_half else "ids": backend.address(slot.ids),
        "out16" if job.is_half else "out": backend.address(ids),
        "out_offsets": 0 if target is None else backend.address(target.array),
    }
    struct = backend.asarray(fill(SPLICE, values))
    if batch.replaced is not None and target is not None:
        _launch(backend, "place_offsets", outcome.documents + 1, _OFFSETS_PER_BLOCK, struct)
    if total:
        _launch(backend, "splice_ids", total, _IDS_PER_BLOCK, struct)
    return SplicedIds(ids, arrays.get("out_begin"))


def _origins(
    doc_ids: NDArray[Any], replaced: Replaced, special: SpecialIds
) -> dict[str, NDArray[Any]]:
    """Return where the ids of every document come from and go to."""
    begins = np.zeros(doc_ids.size, np.int64)
    np.cumsum(lengths_of(doc_ids, replaced, special), out=begins[1:])
    origin = doc_ids[:-1].astype(np.int64)
    origin[replaced.documents] = -1 - replaced.offsets[:-1]
    return {"out_begin": begins, "origin": origin, "cpu_ids": replaced.ids}


def _launch(backend: DeviceBackend, name: str, items: int, per_block: int, struct: Any) -> None:
    blocks = min(-(-items // per_block), _MOST_BLOCKS)
    backend.launch(name, blocks, _THREADS, 0, backend.address(struct))


def framed(replaced: Replaced, special: SpecialIds, dtype: Any) -> NDArray[Any]:
    """Return the ids of a single document that the CPU encoded, with those around it."""
    return np.concatenate((special.before, replaced.ids, special.after)).astype(dtype)


def frame_all(
    ids: NDArray[Any], offsets: NDArray[np.int64], special: SpecialIds
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return ids with those around every document, and the new offsets.

    ids 1 2 3, offsets 0 2 3, before 7  ->  7 1 2 7 3, offsets 0 3 5
    """
    documents = offsets.size - 1
    moved = offsets + special.size * np.arange(documents + 1)
    framed_ids = np.empty(ids.size + special.size * documents, ids.dtype)
    begins = moved[:-1, None]
    framed_ids[begins + np.arange(special.before.size)] = special.before
    framed_ids[moved[1:, None] - special.after.size + np.arange(special.after.size)] = special.after
    shifts = moved[:-1] - offsets[:-1] + special.before.size
    framed_ids[np.arange(ids.size) + np.repeat(shifts, np.diff(offsets))] = ids
    return framed_ids, moved

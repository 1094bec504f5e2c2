"""One batch on a device: a slot that holds it, how it is encoded, and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.layout import BATCH, SPLICE, TRANSFER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import DeviceBackend, Graph, Mark
    from tokenmill._cuda.steps import Capacity

_WORDS = len(BATCH) + len(SPLICE) + len(TRANSFER)
STRUCT_WORDS = _WORDS + _WORDS % 2  # of all structs of a slot, padded to 16 bytes
PAD = 4  # numbers after the documents: their end, and up to 16 bytes
COUNTERS = 64  # Batch::counters
MARGIN_BEFORE, MARGIN_AFTER = 256, 256  # readable bytes around a text


@dataclass(frozen=True)
class BatchJob:
    """How a batch is encoded."""

    with_special: bool  # look for special tokens in texts
    bits: int  # of an id: 32 or 16
    raises_special: bool = False  # a special token in a text is an error
    keep_repeats: bool = False  # merge unknown words one by one, learn none: a measurement

    @property
    def is_half(self) -> bool:
        """Whether ids have 16 bits."""
        return self.bits == 16  # noqa: PLR2004

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """The number type of ids."""
        return np.uint16 if self.is_half else np.uint32


@dataclass(frozen=True)
class OffsetsTarget:
    """The array that gets the offsets of a batch.

    `base` ids of earlier batches come first; each document has `before` and `after` more ids around
    its own.
    """

    array: Any
    base: int = 0
    before: int = 0
    after: int = 0


@dataclass(frozen=True)
class BatchOutcome:
    """Counts of an encoded batch. Its ids and `doc_ids`, their offsets, are in the slot."""

    documents: int
    id_count: int
    flags: NDArray[np.uint32] | None  # DocumentFlag per document; None: all were encoded


class Slot:
    """The text, results and structs of one batch of up to `size` bytes and `documents`."""

    def __init__(self, backend: DeviceBackend, size: int, documents: int) -> None:
        self.size, self.documents = size, documents
        self.memory = backend.zeros(MARGIN_BEFORE + size + MARGIN_AFTER, np.uint8)
        self.text = self.memory[MARGIN_BEFORE : MARGIN_BEFORE + size]
        self.doc_begin = backend.zeros(documents + PAD, np.uint32)
        self.host_begin = backend.pinned(documents + PAD, np.uint32)
        self.doc_ids = backend.zeros(documents + PAD, np.uint32)
        self.doc_flags = backend.zeros(documents + 1, np.uint32)
        self.counters = backend.zeros(COUNTERS, np.uint32)
        self.ids = backend.zeros(size, np.uint32)
        # A Batch, a Splice and a Transfer: one copy uploads all.
        self.struct = backend.zeros(STRUCT_WORDS, np.uint64)
        self.host_struct = backend.pinned(STRUCT_WORDS, np.uint64)
        self.host_struct[:] = 0
        self.splice = self.host_struct[len(BATCH) :]
        self.transfer = self.splice[len(SPLICE) :]
        self.room: Capacity | None = None  # of the shared buffers that the struct points to
        self.host_counters = backend.pinned(COUNTERS, np.uint32)
        self.graphs: dict[tuple[int, bool, bool], Graph] = {}
        self.addresses = (backend.address(self.text), backend.address(self.ids))
        self.here: Any = self.text  # the text of the current batch
        self.loaded = (0, 0)  # its bytes and documents
        self.done: Mark | None = None

    def ids_of(self, job: BatchJob) -> Any:
        """Return the memory of the ids, as wide as the job makes them."""
        return self.ids.view(np.uint16) if job.is_half else self.ids

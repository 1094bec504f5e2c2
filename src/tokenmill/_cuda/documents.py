"""Documents whose ids are on a device: where each is, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._pack.rows import Pieces

_ID_BYTES = 4
_ENDLESS = 1 << 62  # more tokens than any document has


@dataclass(frozen=True)
class DeviceDocuments:
    """Addresses of the tokens of documents on a device.

    If `framed[d]`, BOS and EOS are in memory with the text: token `b` of document `d` is the id at
    `addresses[d] + 4 * b`. If not, the kernel adds them around the `text_lengths[d]` ids at
    `addresses[d]`.
    """

    addresses: NDArray[np.uint64]
    text_lengths: NDArray[np.int64]
    framed: NDArray[np.bool_]

    @staticmethod
    def of_batch(address: int, offsets: NDArray[np.int64]) -> DeviceDocuments:
        """Return the documents of a batch whose first id is at an address."""
        begins = np.asarray(offsets[:-1], np.uint64) * np.uint64(_ID_BYTES)
        count = len(begins)
        return DeviceDocuments(
            begins + np.uint64(address), np.diff(offsets), np.zeros(count, np.bool_)
        )

    @staticmethod
    def of_kept(address: int, pieces: Pieces) -> DeviceDocuments:
        """Return pieces that were copied back to back, BOS and EOS included, as documents."""
        starts = np.cumsum(pieces.lengths) - pieces.lengths
        first = (starts - pieces.begins) * _ID_BYTES + address
        count = len(starts)
        return DeviceDocuments(
            first.astype(np.uint64), np.full(count, _ENDLESS), np.ones(count, np.bool_)
        )

    def and_then(self, others: DeviceDocuments) -> DeviceDocuments:
        """Return these documents and then others."""
        return DeviceDocuments(
            np.concatenate((self.addresses, others.addresses)),
            np.concatenate((self.text_lengths, others.text_lengths)),
            np.concatenate((self.framed, others.framed)),
        )

    def __getitem__(self, part: slice) -> DeviceDocuments:
        return DeviceDocuments(self.addresses[part], self.text_lengths[part], self.framed[part])

    def __len__(self) -> int:
        return len(self.addresses)


NO_DOCUMENTS = DeviceDocuments(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.bool_))

"""How many documents are tokenized at a time: as the memory and the size of documents allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import OptionError
from tokenmill._machine.memory import available_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._causal.log import Log

USUAL = 6000
WRITER_ROWS = {"Dataset": 10_000, "DatasetDict": 40_000}
# Of a batch: text, ids, ids with EOS, the stream, rows, labels, and the memory of the engine.
_COPIES = 8
_BATCH_TEXT_BYTES = 128 << 20  # more text at a time makes nothing faster
_SHARE = 16  # of the available memory that the text of a batch may have, copies apart
_WRITER_BYTES = 256 << 20  # of rows that wait to be written; as many are being written
_KEPT_BYTES = 256 << 20  # of a result that needs no file
_TOKEN_BYTES = 4 + 1  # of input_ids and attention_mask; labels mostly are the ids
_PADDED_TOKEN_BYTES = 4 * 4 + 1  # of a short row, its place in a group, its labels, its mask


class BatchSize:
    """The number of documents in a batch: given or chosen, and smaller if memory is short."""

    def __init__(
        self, given: int | None, log: Log, available: Callable[[], int] = available_bytes
    ) -> None:
        self._given = given
        self._log = log
        self._available = available
        self._left = available()
        self._bytes_each = 1.0
        self._limit: int | None = None  # set by a failed allocation
        self.documents = given or USUAL

    @property
    def text_bytes(self) -> int:
        """The most text in a batch, in any number of documents."""
        return max(1 << 20, min(_BATCH_TEXT_BYTES, self._left // _SHARE))

    def measure(self, text_bytes: int, documents: int) -> None:
        """Note how long documents are; take fewer if many of them would not fit."""
        if documents:
            self._bytes_each = max(1.0, text_bytes / documents)
        if self._given is None:
            self.documents = self._within(max(1, int(self.text_bytes / self._bytes_each)))

    def check(self) -> None:
        """Take fewer documents at a time if a batch no longer fits the available memory."""
        self._left = self._available()
        fits = int(self._left / 2 / (_COPIES * self._bytes_each))
        if fits < self.documents:
            self._shrink(max(1, fits), "little memory is left")

    def halve(self) -> None:
        """Take half as many documents at a time from now on: memory cannot be allocated."""
        self._limit = max(1, self.documents // 2)
        self._shrink(self._limit, "memory cannot be allocated")

    def _within(self, wanted: int) -> int:
        return min(USUAL, wanted, self._limit or USUAL)

    def _shrink(self, documents: int, reason: str) -> None:
        if documents < self.documents:
            self._log.warning(f"batch_size reduced from {self.documents} to {documents}: {reason}")
            self.documents = documents


def writer_rows(kind: str, context_length: int, available: int) -> int:
    """Return how many rows are written at a time: fewer if they take too much memory."""
    budget = min(_WRITER_BYTES, available // 8)
    return max(1, min(WRITER_ROWS[kind], budget // (_TOKEN_BYTES * context_length)))


def check_row(context_length: int, available: int) -> None:
    """Refuse a row that does not fit the memory, before the system kills the process."""
    needed = context_length * _PADDED_TOKEN_BYTES
    if needed > available:
        raise OptionError(
            f"a row of {context_length:,} tokens takes {needed / 1e9:.1f} GB while it is made, "
            f"and {available / 1e9:.1f} GB of memory are available",
            where="context_length",
            hint='choose a smaller one, or tail="drop", which pads no row',
        )


def memory_rows_bytes() -> int:
    """Return how large a result may be that stays in memory."""
    return min(_KEPT_BYTES, available_bytes() // _SHARE)

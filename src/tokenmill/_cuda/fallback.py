"""Documents that the device could not encode: the CPU engine encodes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._calls.options import ERROR_MODES, thread_count
from tokenmill._cuda.layout import DocumentFlag
from tokenmill._cuda.reasons import reason_of
from tokenmill._errors import EncodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._core import Model
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._cuda.slot import BatchOutcome
    from tokenmill._cuda.texts import TextPart

NO_DOCUMENTS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Replaced:
    """Documents of a batch that the CPU encoded: their numbers, ids back to back, and offsets."""

    documents: NDArray[np.int64]
    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]


class CpuFallback:
    """The CPU engine with the options of one call; `fallbacks` counts documents by reason."""

    def __init__(self, model: Model, special_mode: int, errors: int) -> None:
        self._model = model
        self._special_mode, self._errors = special_mode, errors
        self.fallbacks: Counter[str] = Counter()

    def like(self, other: CpuFallback) -> bool:
        """Check whether both encode alike."""
        return (self._special_mode, self._errors) == (other._special_mode, other._errors)

    def replace(
        self,
        backend: DeviceBackend,
        part: TextPart,
        begin: int,
        outcome: BatchOutcome,
        broken: NDArray[np.int64] = NO_DOCUMENTS,
    ) -> Replaced | None:
        """Encode what the device could not, of a batch that starts at document `begin`.

        `broken` are documents of the batch with lone surrogates, which are U+FFFD on the device.
        """
        is_strict = self._errors == ERROR_MODES["strict"]
        if outcome.flags is None and not (broken.size and is_strict):
            return None
        flags = np.zeros(outcome.documents, np.uint32) if outcome.flags is None else outcome.flags
        if is_strict:
            flags[broken] |= np.uint32(DocumentFlag.INVALID_UTF8)
        wanted = np.flatnonzero(flags)
        if not wanted.size:
            return None
        for bits, count in zip(*np.unique(flags[wanted], return_counts=True), strict=True):
            self.fallbacks[reason_of(int(bits))] += int(count)
        return self._encode(backend, part, begin + wanted, wanted)

    def replace_long(self, backend: DeviceBackend, part: TextPart, document: int) -> Replaced:
        """Encode a document that is too long for a batch."""
        self.fallbacks["long_document"] += 1
        return self._encode(backend, part, np.array([document]), np.zeros(1, np.int64))

    def _encode(
        self,
        backend: DeviceBackend,
        part: TextPart,
        numbers: NDArray[np.int64],
        places: NDArray[np.int64],
    ) -> Replaced:
        """Encode documents of a part by their numbers; `places` are their numbers in the batch."""
        try:
            ids, offsets = self.encode(part.pick(backend, numbers))
        except EncodeError as error:
            if error.document is None:
                raise
            number = part.skipped + part.first + int(numbers[error.document])
            raise error.renumbered(number) from None
        return Replaced(places, ids, offsets)

    def encode(self, texts: object) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of texts, back to back, and their offsets."""
        return self._model.encode_batch(
            texts,
            threads=thread_count(None),
            bits=32,
            add_special_tokens=False,
            special_mode=self._special_mode,
            errors=self._errors,
        )

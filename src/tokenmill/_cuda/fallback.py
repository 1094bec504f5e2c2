"""Documents that the device could not encode: the CPU engine encodes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._calls.options import thread_count
from tokenmill._cuda.layout import DocumentFlag
from tokenmill._cuda.reasons import reason_of
from tokenmill._errors import EncodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._core import Model
    from tokenmill._cuda.protocols import DeviceBackend
    from tokenmill._cuda.slot import BatchOutcome
    from tokenmill._cuda.texts import TextPart


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

    def replace(
        self, backend: DeviceBackend, part: TextPart, begin: int, outcome: BatchOutcome
    ) -> Replaced | None:
        """Encode what the device could not, of a batch that starts at document `begin`."""
        broken = [d - begin for d in part.originals if 0 <= d - begin < outcome.documents]
        if outcome.flags is None and not broken:
            return None
        flags = np.zeros(outcome.documents, np.uint32) if outcome.flags is None else outcome.flags
        flags[broken] |= np.uint32(DocumentFlag.INVALID_UTF8)
        wanted = np.flatnonzero(flags)
        if not wanted.size:
            return None
        self.fallbacks.update(reason_of(int(bits)) for bits in flags[wanted])
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
        texts = [part.text(backend, document) for document in numbers.tolist()]
        try:
            ids, offsets = self.encode(texts)
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

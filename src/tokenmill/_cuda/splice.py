"""Documents that the device could not do: encoded by the CPU engine, and put into their place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._calls.options import thread_count
from tokenmill._cuda.layout import SPLICE, fill
from tokenmill._cuda.reasons import FLAGS, device_error, reason_of
from tokenmill._errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._cuda.backend import Backend
    from tokenmill._cuda.engine import Outcome, Place, Slot
    from tokenmill._cuda.texts import Part

_INVALID = np.uint32(1 << FLAGS.index("invalid_utf8"))
_OFFSETS_PER_BLOCK, _IDS_PER_BLOCK, _THREADS = 256, 4096, 256  # splice.h
_MOST_BLOCKS = 1 << 16


@dataclass(frozen=True)
class Frame:
    """Ids that stand before and behind every document."""

    before: NDArray[np.uint32]
    behind: NDArray[np.uint32]

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.before.size + self.behind.size)


NO_FRAME = Frame(np.empty(0, np.uint32), np.empty(0, np.uint32))


def frame_of(model: Any) -> Frame:  # the core's model
    """Return what a model puts around a text: what is common to two texts that differ at once."""
    text, other = _two_texts(model)
    first, second = (model.encode(some, True, 1, 0) for some in (text, other))
    before = int(np.argmin(first[: second.size] == second[: first.size]))
    return Frame(first[:before], first[before + model.encode(text, False, 1, 0).size :])


def _two_texts(model: Any) -> tuple[str, str]:
    """Return characters that the vocabulary has and whose first ids differ."""
    firsts: dict[int, str] = {}
    for character in map(chr, range(0x80)):
        ids = model.encode(character, False, 1, 0)
        if ids.size:
            firsts.setdefault(int(ids[0]), character)
        if len(firsts) > 1:
            break
    if len(firsts) < 2:  # noqa: PLR2004
        raise device_error("unsupported_model", "its vocabulary has hardly any character")
    text, other = firsts.values()
    return text, other


@dataclass(frozen=True)
class Replaced:
    """Documents of a batch that the CPU encoded: their numbers, ids back to back, and offsets."""

    documents: NDArray[np.int64]
    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]


class CpuEngine:
    """The engine of the host, with the options of one call."""

    def __init__(self, model: Any, special: int, errors: int) -> None:
        self._model = model
        self._how = (special, errors)
        self.fallbacks: Counter[str] = Counter()

    def replace(
        self, backend: Backend, part: Part, begin: int, outcome: Outcome
    ) -> Replaced | None:
        """Encode the documents of a batch, which begins at `begin`, that the device could not."""
        broken = [d - begin for d in part.originals if 0 <= d - begin < outcome.documents]
        if outcome.flags is None and not broken:
            return None
        flags = np.zeros(outcome.documents, np.uint32) if outcome.flags is None else outcome.flags
        flags[broken] |= _INVALID
        wanted = np.flatnonzero(flags)
        if not wanted.size:
            return None
        self.fallbacks.update(reason_of(int(bits)) for bits in flags[wanted])
        return self._encode(backend, part, begin + wanted, wanted)

    def replace_long(self, backend: Backend, part: Part, document: int) -> Replaced:
        """Encode a document that is too long for a batch."""
        self.fallbacks["long_document"] += 1
        return self._encode(backend, part, np.array([document]), np.zeros(1, np.int64))

    def _encode(
        self, backend: Backend, part: Part, numbers: NDArray[np.int64], places: NDArray[np.int64]
    ) -> Replaced:
        texts = [part.text(backend, document) for document in numbers.tolist()]
        try:
            threads = thread_count(None)
            ids, offsets = self._model.encode_batch(texts, threads, 32, False, *self._how)
        except EncodeError as error:
            if error.document is None:
                raise
            place = part.skipped + part.first + int(numbers[error.document])
            self.fail(texts[error.document], place)
            raise
        return Replaced(places, ids, offsets)

    def fail(self, text: object, document: int) -> None:
        """Raise the error of a text as if it were that document of many."""
        self._model.encode_batch([*([b""] * document), text], 1, 32, False, *self._how)


def lengths_of(doc_ids: NDArray[Any], replaced: Replaced | None, frame: Frame) -> NDArray[np.int64]:
    """Return how many ids each document of a batch has in the result."""
    lengths = np.diff(doc_ids.astype(np.int64))
    if replaced is not None:
        lengths[replaced.documents] = np.diff(replaced.offsets)
    return np.asarray(lengths + frame.size, np.int64)


@dataclass(frozen=True)
class Encoded:
    """One encoded batch: its slot, what became of it, and what the CPU encoded of it."""

    slot: Slot
    outcome: Outcome
    replaced: Replaced | None


def place_batch(backend: Backend, batch: Encoded, frame: Frame, place: Place, bits: int) -> Any:
    """Return the ids of a batch in an array of their own.

    Its offsets are written anew where the CPU encoded some of it, which the launches of the batch
    did not know.
    """
    slot, outcome = batch.slot, batch.outcome
    is_half = bits == 16  # noqa: PLR2004
    dtype = np.uint16 if is_half else np.uint32
    total = outcome.count + frame.size * outcome.documents
    if batch.replaced is None and not frame.size:
        ids = backend.empty(total, dtype)
        backend.copy(ids, (slot.ids16() if is_half else slot.ids)[:total])
        return ids
    arrays: dict[str, NDArray[Any]] = {"before": frame.before, "behind": frame.behind}
    if batch.replaced is not None:
        doc_ids = backend.to_host(slot.doc_ids[: outcome.documents + 1])
        arrays |= _origins(doc_ids, batch.replaced, frame)
        total = int(arrays["out_begin"][-1])
    kept = {name: backend.asarray(array) for name, array in arrays.items()}
    ids = backend.empty(total, dtype)
    values = {name: backend.address(array) for name, array in kept.items()} | {
        "documents": outcome.documents,
        "total": total,
        "base": place.base,
        "before_count": frame.before.size,
        "behind_count": frame.behind.size,
        "doc_ids": backend.address(slot.doc_ids),
        "ids16" if is_half else "ids": backend.address(slot.ids),
        "out16" if is_half else "out": backend.address(ids),
        "out_offsets": backend.address(place.offsets),
    }
    struct = backend.asarray(fill(SPLICE, values))
    if batch.replaced is not None:
        _launch(backend, "place_offsets", outcome.documents + 1, _OFFSETS_PER_BLOCK, struct)
    if total:
        _launch(backend, "splice_ids", total, _IDS_PER_BLOCK, struct)
    return ids


def _origins(doc_ids: NDArray[Any], replaced: Replaced, frame: Frame) -> dict[str, NDArray[Any]]:
    """Say where every document of a batch comes from and goes to."""
    begins = np.zeros(doc_ids.size, np.int64)
    np.cumsum(lengths_of(doc_ids, replaced, frame), out=begins[1:])
    origin = doc_ids[:-1].astype(np.int64)
    origin[replaced.documents] = -1 - replaced.offsets[:-1]
    return {"out_begin": begins, "origin": origin, "cpu_ids": replaced.ids}


def _launch(backend: Backend, name: str, items: int, per_block: int, struct: Any) -> None:
    blocks = min(-(-items // per_block), _MOST_BLOCKS)
    backend.launch(name, blocks, _THREADS, 0, backend.address(struct))


def splice_on_host(
    ids: NDArray[Any], doc_ids: NDArray[Any], replaced: Replaced
) -> Sequence[NDArray[Any]]:
    """Return the pieces whose row is the batch with the replaced documents in their places."""
    pieces: list[NDArray[Any]] = []
    at = 0
    for number, document in enumerate(replaced.documents.tolist()):
        pieces.append(ids[at : doc_ids[document]])
        begin, end = replaced.offsets[number : number + 2]
        pieces.append(replaced.ids[begin:end].astype(ids.dtype))
        at = int(doc_ids[document + 1])
    return [*pieces, ids[at:]]

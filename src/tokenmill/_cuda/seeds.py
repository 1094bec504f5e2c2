"""The words that the tables of a device start with.

They go through the merge kernels as a batch of misses, because a table must hold what merging
returns. That is not always the token itself: some tokens cannot be reached by merging.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.layout import BATCH, BatchCounter, BatchOption, fill
from tokenmill._cuda.slot import COUNTERS
from tokenmill._cuda.steps import (
    LONGEST_LEARNT,
    MARGIN,
    PIECE,
    Capacity,
    Step,
    batch_numbers,
    buffers,
    miss_steps,
)
from tokenmill._cuda.tables import LOOKED_UP, has_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tokenmill._cuda.protocols import KernelBackend

    Seeds = tuple[NDArray[np.uint8], NDArray[np.uint32]]  # text, and a miss for each word

ROOM_FOR_CHARACTERS = 1 << 18  # entries: characters fill only a small part of such a table
_THREE_BYTES = 0xE0  # first bytes from here on start three or four bytes
_FIRST, _SURROGATES, _BASIC_END = 0x800, (0xD800, 0xE000), 0x10000


def seed_words(
    backend: KernelBackend,
    device_tables: Mapping[str, Any],
    tables: int,
    processors: int = 132,
    *,
    with_characters: bool = False,
) -> None:
    """Put words into the tables at `tables`, the address of the struct.

    They are the vocabulary's own tokens and, if there is room, the characters of three bytes:
    scripts without blanks are cut into pieces, and most pieces are one character.
    """
    _seed(backend, tables, processors, token_seeds(device_tables))
    if device_tables["kind"] in LOOKED_UP:
        _seed(backend, tables, processors, after_blanks(token_seeds(device_tables)))
    if with_characters:
        _seed(backend, tables, processors, character_seeds(device_tables))


def _seed(backend: KernelBackend, tables: int, processors: int, seeds: Seeds) -> None:
    text, records = seeds
    capacity = Capacity(
        text.size, 0, processors, misses=max(len(records), 1), dedupe=1, arena_step=3
    )
    counters = np.zeros(COUNTERS, dtype=np.uint32)
    counters[BatchCounter.MISS_COUNT] = len(records)
    arrays = {
        name: backend.zeros(*buffers(capacity)[name])
        for name in ("miss_lists", "miss_counts", "arena")
    }
    arrays["misses"] = backend.asarray(records.reshape(-1))
    arrays["counters"] = backend.asarray(counters)
    padded = backend.asarray(np.pad(text, (MARGIN, 256)))
    values = {name: backend.address(array) for name, array in arrays.items()}
    values |= batch_numbers(capacity)
    values |= {"text": backend.address(padded) + MARGIN, "size": text.size}
    values["options"] = BatchOption.KEEP_REPEATS | BatchOption.LEARN
    batch = backend.asarray(fill(BATCH, values))
    merges = [step for step in miss_steps(capacity) if step.name != "merge_long"]
    for step in [*merges, Step("insert_words", processors * 4, 256)]:
        backend.launch(step.name, step.blocks, step.threads, tables, backend.address(batch))
    backend.to_host(arrays["counters"])  # waits: the arrays above must outlive the launches


def token_seeds(device_tables: Mapping[str, Any]) -> Seeds:
    """Return the tokens that a table can hold, back to back, and a miss for each of them.

    If a word and an equal piece of a word may have different ids, tokens that can be a piece are
    there twice, with text of their own: the ids of a miss are written to the place of its text.
    """
    text, offsets = device_tables["token_bytes"], device_tables["token_offsets"].astype(np.int64)
    sizes = np.diff(offsets)
    held = np.flatnonzero((sizes > 0) & (sizes <= LONGEST_LEARNT))
    records = np.zeros((held.size, 4), dtype=np.uint32)
    records[:, 0], records[:, 1] = offsets[held], sizes[held]
    return _with_pieces(device_tables, text, records)


def after_blanks(seeds: Seeds) -> Seeds:
    """Return the same words with a blank before each."""
    text, records = seeds
    begins, sizes = records[:, 0].astype(np.int64), records[:, 1].astype(np.int64)
    places = begins + np.arange(begins.size)
    spaced = np.full(text.size + begins.size, ord(" "), np.uint8)
    source = np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    target = np.repeat(places + 1 - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    spaced[target] = text[source]
    made = records.copy()
    made[:, 0], made[:, 1] = places, sizes + 1
    return spaced, made[made[:, 1] <= LONGEST_LEARNT]


def character_seeds(device_tables: Mapping[str, Any]) -> Seeds:
    """Return the basic characters of three bytes."""
    codes = np.setdiff1d(np.arange(_FIRST, _BASIC_END), np.arange(*_SURROGATES))
    shifted = (codes[:, None] >> np.array([12, 6, 0])) & 63
    text = (shifted | np.array([_THREE_BYTES, 0x80, 0x80])).astype(np.uint8).reshape(-1)
    records = np.zeros((codes.size, 4), dtype=np.uint32)
    records[:, 0], records[:, 1] = 3 * np.arange(codes.size), 3
    return _with_pieces(device_tables, text, records)


def _with_pieces(
    device_tables: Mapping[str, Any], text: NDArray[np.uint8], records: NDArray[np.uint32]
) -> Seeds:
    if not has_pieces(device_tables):
        return text, records
    pieces = _as_pieces(text, records)
    pieces[:, 0] += text.size
    return np.concatenate([text, text]), np.concatenate([records, pieces])


def _as_pieces(text: NDArray[np.uint8], records: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the misses that can also be pieces of a cut word: those with a 3-byte character."""
    leads = np.concatenate([[0], np.cumsum(text >= _THREE_BYTES)])
    begin, end = records[:, 0], records[:, 0] + records[:, 1]
    pieces: NDArray[np.uint32] = records[leads[end] > leads[begin]].copy()
    pieces[:, 1] |= PIECE
    return pieces

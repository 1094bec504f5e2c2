"""The order of the kernels and the buffers of a batch.

Everything here is a function of a capacity, so that launches can be captured once: the kernels
read the size of the current batch from the structs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TILE = 8192  # bytes; the default of TM_TILE
LONGEST_WORD = 8192  # bytes; the CPU encodes longer ones
LONGEST_LEARNT = 63  # bytes of a word in the second table
MARGIN = 64  # readable bytes before the text
PIECE = 1 << 31  # in the length of a miss
ADDED_STEPS = ("find_raw_added", "find_normal_added", "join_added", "bounds_again")

Buffers = dict[str, tuple[int, Any]]


@dataclass(frozen=True)
class Step:
    """One launch."""

    name: str
    blocks: int
    threads: int
    with_previous: bool = False  # it need not wait for the step before it


@dataclass(frozen=True)
class Capacity:
    """The largest batch that a set of buffers holds."""

    size: int  # bytes of text, at most 1 GiB
    documents: int
    processors: int = 132
    tile: int = TILE
    misses: int = 0  # words that the tables do not know; 0: one for three bytes
    ids: int = 0  # 0: one for each byte, which is always enough
    dedupe: int = 1 << 22  # a power of two
    arena_step: int = 1  # places in the arena for each byte of text: TM_ARENA_STEP

    @property
    def tiles(self) -> int:
        """Tiles of the largest text."""
        return -(-self.size // self.tile)

    @property
    def miss_count(self) -> int:
        """The most misses."""
        return self.misses or self.size // 3 + 1024

    @property
    def long_blocks(self) -> int:
        """How many long words are merged at the same time."""
        return 4 * self.processors

    @property
    def id_count(self) -> int:
        """The most ids."""
        return self.ids or self.size


@dataclass(frozen=True)
class WordCapacity:
    """The sizes of the two word tables, powers of two; half of each may be filled."""

    entries: int = 1 << 21  # of 32 bytes
    long_slots: int = 1 << 20  # of 16 bytes
    long_capacity: int = 1 << 24  # bytes, and ids, of long words

    def __post_init__(self) -> None:
        """Check what the kernels rely on: sizes are masks, and a place fits into a code."""
        for size, most in ((self.entries, 1 << 26), (self.long_slots, 1 << 29)):
            if size & (size - 1) or not 0 < size <= most:
                raise ValueError(f"expected a power of two up to {most}, got {size}")


def steps(capacity: Capacity) -> list[Step]:
    """Return the launches that encode a batch, in order."""
    tiles, wide = max(capacity.tiles, 1), capacity.processors * 8
    documents = -(-(capacity.documents + 1) // 8)
    return [
        Step("clear_batch", wide, 256),
        Step("mark_documents", -(-(capacity.documents + 1) // 256), 256),
        Step("bounds", tiles, 256),
        *added_steps(capacity),
        Step("scan_words", 1, 1024),
        Step("look_up", tiles, 256),
        *miss_steps(capacity),
        Step("finish_misses", -(-tiles // 8), 256),
        Step("scan_ids", 1, 1024),
        Step("emit_ids", tiles, 256),
        # It writes only free entries, and emit_ids reads only those that look_up found.
        Step("insert_words", capacity.processors * 4, 256, with_previous=True),
        Step("document_ids", min(documents, wide), 256),
    ]


def added_steps(capacity: Capacity) -> list[Step]:
    """Return the launches that find added tokens; they end at once if there is no candidate."""
    blocks, threads = min(capacity.processors * 8, max(capacity.tiles, 1)), capacity.tile // 32
    return [Step(name, blocks, threads) for name in ADDED_STEPS]


def miss_steps(capacity: Capacity) -> list[Step]:
    """Return the launches that turn misses into ids."""
    processors = capacity.processors
    return [
        Step("dedupe_misses", processors * 8, 256),
        Step("merge_16", processors * 16, 128),
        Step("merge_32", processors * 8, 128, with_previous=True),
        Step("merge_64", processors * 8, 64, with_previous=True),
        Step("merge_128", processors * 8, 32, with_previous=True),
        Step("merge_512", processors * 24, 32, with_previous=True),
        Step("merge_long", capacity.long_blocks, 256, with_previous=True),
    ]


def buffers(capacity: Capacity) -> Buffers:
    """Return the size and type of each array of a batch, except text and results.

    Not here, because callers choose them: `text`, `doc_begin`, `ids` or `ids16`, `doc_ids`.
    """
    tiles, misses = capacity.tiles, capacity.miss_count
    masks = tiles * (capacity.tile // 32) + 64
    per_tile = tiles + 1 + 4  # scans read and write four at a time
    return {
        "doc_bits": (masks + 1, np.uint32),
        "doc_flags": (capacity.documents + 1, np.uint32),
        "start_bits": (masks, np.uint32),
        "cut_bits": (masks, np.uint32),
        "tile_words": (per_tile, np.uint32),
        "word_base": (per_tile, np.uint32),
        "tile_ids": (per_tile, np.uint32),
        "id_base": (per_tile, np.uint32),
        "tile_misses": (2 * tiles + 2, np.uint32),
        "tile_again": (per_tile, np.uint32),
        "added_tiles": (per_tile, np.uint32),
        "again_tiles": (per_tile, np.uint32),
        "span_bits": (masks, np.uint32),
        "inner_bits": (masks, np.uint32),
        "raw_bits": (masks, np.uint32),
        "stage_bits": (2 * (masks + 2), np.uint32),
        "codes": (capacity.size + 64, np.uint32),
        "misses": (4 * misses, np.uint32),
        "miss_lists": (misses + list_room(capacity.size), np.uint32),
        "miss_counts": (misses, np.uint32),
        "arena": (capacity.arena_step * capacity.size + 64, np.uint32),
        "dedupe": (capacity.dedupe, np.uint32),
        "scratch": (capacity.long_blocks * 4 * LONGEST_WORD, np.uint32),
        "counters": (64, np.uint32),
    }


def list_room(size: int) -> int:
    """Return the room of the lists of words of more than 16, 32, 64, 128 and 256 bytes."""
    return sum(size // (16 << k) + 1 for k in range(5))


def batch_numbers(capacity: Capacity) -> dict[str, int]:
    """Return the numbers of the struct Batch that the capacity fixes."""
    return {
        "miss_capacity": capacity.miss_count,
        "id_capacity": capacity.id_count,
        "dedupe_mask": capacity.dedupe - 1,
        "scratch_blocks": capacity.long_blocks,
        "text_capacity": capacity.size,
    }


def word_buffers(words: WordCapacity) -> Buffers:
    """Return the size and type of each array of the word tables; zeros are an empty table."""
    return {
        "words": (8 * words.entries, np.uint32),
        "long_slots": (4 * words.long_slots, np.uint32),
        "long_bytes": (words.long_capacity + 64, np.uint8),
        "long_ids": (words.long_capacity, np.uint32),
        "learnt": (8, np.uint32),
    }


def word_numbers(words: WordCapacity) -> dict[str, int]:
    """Return the numbers of the struct Tables that belong to the word tables."""
    return {
        "words_mask": words.entries - 1,
        "words_limit": words.entries // 2,
        "long_mask": words.long_slots - 1,
        "long_capacity": words.long_capacity,
    }

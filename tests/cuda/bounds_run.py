"""The boundary kernels on the host: a model and documents in, bits out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.cuda.shim import ShimBackend, build

from tokenmill._cuda.added import AddedFilter, packed_first_bytes, packed_second_bytes
from tokenmill._cuda.layout import BATCH, TABLES, BatchCounter, fill
from tokenmill._cuda.tables import defines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Bounds:
    """What a run wrote."""

    starts: NDArray[np.uint8]  # a number a byte, 0 or 1
    cuts: NDArray[np.uint8]
    tile_words: NDArray[np.uint32]
    flags: NDArray[np.uint32]
    counters: NDArray[np.uint32]
    added_tiles: NDArray[np.uint32]


class BoundsRunner:
    """The kernels of one tokenizer, compiled for one tile size."""

    def __init__(
        self, facts: Mapping[str, Any], folder: Path, tile: int, *, sanitize: str = "", **more: int
    ) -> None:
        self._tile = tile
        macros = defines(facts, tile) | {"TM_PIECES": 1, **more}
        self._library = build(folder, macros, sanitize, "bound_kernels.h")
        self._back = ShimBackend(self._library)
        names = {field.name for field in TABLES}
        arrays = {k: v for k, v in facts.items() if k in names and isinstance(v, np.ndarray)}
        self._tables = {name: self._back.asarray(array) for name, array in arrays.items()}
        self._numbers: dict[str, int] = {}

    def add(self, numbers: Mapping[str, int] | None = None, **arrays: NDArray[Any]) -> None:
        """Give the tables more: facts about code points, or about added tokens."""
        self._tables |= {name: self._back.asarray(array) for name, array in arrays.items()}
        self._numbers |= numbers or {}

    def find(self, found: AddedFilter) -> None:
        """Give the tables what added tokens start with."""
        numbers = {
            "added_count": found.added_prefixes.size,
            "added_bytes": packed_first_bytes(found.added_first),
            "added_seconds": packed_second_bytes(found),
        }
        self.add(numbers, **found._asdict())

    def __call__(
        self,
        kernel: str,
        documents: Sequence[bytes],
        *,
        options: int = 0,
        shuffle: int | None = None,
        spare_blocks: int = 1,
    ) -> Bounds:
        """Run the kernels up to the boundaries; a few blocks more than there are tiles."""
        back = ShimBackend(self._library, shuffle)
        text = b"".join(documents)
        tiles = -(-len(text) // self._tile)
        words = tiles * self._tile // 32
        padded = back.zeros(64 + len(text) + 256, np.uint8)
        padded[:] = 0xE4  # bytes around the text can be read, but are not text
        padded[64 : 64 + len(text)] = np.frombuffer(text, dtype=np.uint8)
        begins = np.cumsum([0, *map(len, documents)]).astype(np.uint32)
        arrays = {
            "doc_begin": back.asarray(begins),
            "doc_bits": _poisoned(back, words + 2),
            "doc_flags": _poisoned(back, len(documents)),
            "start_bits": _poisoned(back, words),
            "cut_bits": _poisoned(back, words),
            "tile_words": _poisoned(back, tiles),
            "counters": _poisoned(back, 64),
            "dedupe": _poisoned(back, 8),
            "tile_again": _poisoned(back, tiles),
            "added_tiles": _poisoned(back, tiles),
            "span_bits": _poisoned(back, words),
            "inner_bits": _poisoned(back, words),
            "raw_bits": _poisoned(back, words),
        }
        numbers = {
            "size": len(text), "documents": len(documents), "tiles": tiles, "dedupe_mask": 7,
            "options": options, "text": back.address(padded) + 64,
        }  # fmt: skip
        batch = fill(BATCH, numbers | {k: back.address(v) for k, v in arrays.items()})
        tables = fill(
            TABLES,
            self._numbers | {k: back.address(v) for k, v in self._tables.items()},
        )
        for name, blocks in (
            ("clear_batch", 3), ("mark_documents", 2), (kernel, tiles + spare_blocks),
        ):  # fmt: skip
            back.launch(name, blocks, 256, back.address(tables), back.address(batch))
        assert not any(arrays[name].any() for name in ("dedupe", "span_bits", "inner_bits"))
        listed = arrays["added_tiles"][: arrays["counters"][BatchCounter.ADDED_TILES]]
        return Bounds(
            _unpacked(arrays["start_bits"], len(text)),
            _unpacked(arrays["cut_bits"], len(text)),
            arrays["tile_words"],
            arrays["doc_flags"],
            arrays["counters"],
            np.sort(listed),
        )


def _poisoned(back: ShimBackend, count: int) -> NDArray[np.uint32]:
    array = back.zeros(count, np.uint32)
    array[:] = 0xDEADBEEF
    return array


def _unpacked(bits: NDArray[np.uint32], size: int) -> NDArray[np.uint8]:
    every = np.unpackbits(bits.view(np.uint8), bitorder="little")
    assert not every[size:].any(), "a bit after the text"
    return every[:size]

"""The tables of one tokenizer on one device."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tokenmill._cuda.layout import TABLES, fill
from tokenmill._cuda.seeds import ROOM_FOR_CHARACTERS, seed_words
from tokenmill._cuda.steps import WordCapacity, word_buffers, word_numbers
from tokenmill._cuda.support import (
    added_prefixes,
    added_texts,
    changing_bits,
    packed_first_bytes,
)
from tokenmill._cuda.tables import LOOKED_UP, host_tables, table_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokenmill._cuda.protocols import DeviceBackend

_LEARNT = ("words", "long_slots", "learnt")  # arrays that insert_words writes


class DeviceTables:
    """Arrays of a tokenizer, and a struct for each set of added tokens that calls look for."""

    def __init__(
        self,
        backend: DeviceBackend,
        facts: Mapping[str, Any],
        meta: Mapping[str, Any],
        words: WordCapacity,
    ) -> None:
        self._backend = backend
        self._arrays = {name: backend.asarray(a) for name, a in host_tables(facts).items()}
        self._arrays |= {name: backend.zeros(*room) for name, room in word_buffers(words).items()}
        if facts["normalizer"] and facts["kind"] not in LOOKED_UP:
            self._arrays["unsafe_basic"] = backend.asarray(changing_bits(facts))
        values = {name: backend.address(array) for name, array in self._arrays.items()}
        values |= table_numbers(facts) | word_numbers(words)
        self._added: list[dict[str, Any]] = []  # held: the structs point to them
        self._structs: dict[bool, Any] = {}
        self.finds_added: dict[bool, bool] = {}
        for special in (True, False):
            texts = added_texts(meta, facts, with_special=special)
            self._add_struct(special, added_prefixes(texts, facts)._asdict(), values)
        self._seed: Callable[[], None] = partial(
            seed_words, backend, facts, self.address(True), backend.processors,
            with_characters=words.entries >= ROOM_FOR_CHARACTERS,
        )  # fmt: skip
        self._seed()

    def _add_struct(
        self, special: bool, prefixes: Mapping[str, Any], values: Mapping[str, int]
    ) -> None:
        placed = {name: self._backend.asarray(array) for name, array in prefixes.items()}
        count = prefixes["added_prefixes"].size
        own = {name: self._backend.address(array) for name, array in placed.items()}
        own["added_count"] = count
        own["added_bytes"] = packed_first_bytes(prefixes["added_first"])
        self._added.append(placed)
        self.finds_added[special] = count > 0
        self._structs[special] = self._backend.asarray(fill(TABLES, {**values, **own}))

    def forget(self) -> None:
        """Reset the word tables to the vocabulary's own tokens."""
        for name in _LEARNT:
            array = self._arrays[name]
            self._backend.copy(array, self._backend.zeros(array.size, array.dtype))
        self._seed()

    def address(self, with_special: bool) -> int:
        """Return the address of the struct."""
        return self._backend.address(self._structs[with_special])

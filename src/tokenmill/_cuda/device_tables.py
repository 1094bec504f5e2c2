"""The tables of one tokenizer on one device."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tokenmill._cuda.added import (
    KINDS,
    AddedFilter,
    added_filter,
    added_numbers,
    added_tables,
    missing_bytes,
    packed_first_bytes,
    packed_second_bytes,
    trie_texts,
    wanted_texts,
)
from tokenmill._cuda.char_tables import marker_bits
from tokenmill._cuda.layout import TABLES, fill
from tokenmill._cuda.normal import normal_tables
from tokenmill._cuda.seeds import ROOM_FOR_CHARACTERS, seed_words
from tokenmill._cuda.steps import ADDED_STEPS, WordCapacity, word_buffers, word_numbers
from tokenmill._cuda.support import NFC
from tokenmill._cuda.tables import (
    CHARACTERS,
    chain_struct,
    chain_tables,
    host_tables,
    table_numbers,
)

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
        words: WordCapacity,
    ) -> None:
        self._backend = backend
        arrays = host_tables(facts) | added_tables(facts)
        if facts["normalizer"] == NFC:
            arrays |= normal_tables()
        elif facts["normalizer"] and facts["kind"] == CHARACTERS:
            arrays["unsafe_basic"] = marker_bits()
        self._arrays = {name: backend.asarray(array) for name, array in arrays.items()}
        self._arrays |= {name: backend.zeros(*room) for name, room in word_buffers(words).items()}
        self._chain = [backend.asarray(array) for array in chain_tables(facts)]
        addresses = [backend.address(array) for array in self._chain]
        self._arrays["chain"] = backend.asarray(chain_struct(facts, addresses))
        values = {name: backend.address(array) for name, array in self._arrays.items()}
        values |= table_numbers(facts) | word_numbers(words) | added_numbers(facts)
        if facts["normalizer"] == NFC:
            values["normal_mask"] = arrays["normal_pairs"].size - 1
        self._has_kind = {kind: bool(trie_texts(facts, kind)) for kind in KINDS}
        self._added: list[dict[str, Any]] = []  # held: the structs point to them
        self._structs: dict[bool, Any] = {}
        self.finds_added: dict[bool, bool] = {}
        for special in (True, False):
            texts = wanted_texts(facts, with_special=special)
            self._add_struct(special, added_filter({*texts, *missing_bytes(facts)}), values)
        self._seed: Callable[[], None] = partial(
            seed_words, backend, facts, self.address(True), backend.processors,
            with_characters=words.entries >= ROOM_FOR_CHARACTERS,
        )  # fmt: skip
        self._seed()

    def _add_struct(self, special: bool, found: AddedFilter, values: Mapping[str, int]) -> None:
        placed = {name: self._backend.asarray(array) for name, array in found._asdict().items()}
        count = found.added_prefixes.size
        own = {name: self._backend.address(array) for name, array in placed.items()}
        own["added_count"] = count
        own["added_bytes"] = packed_first_bytes(found.added_first)
        own["added_seconds"] = packed_second_bytes(found)
        self._added.append(placed)
        self.finds_added[special] = count > 0
        self._structs[special] = self._backend.asarray(fill(TABLES, {**values, **own}))

    def steps_left_out(self, with_special: bool) -> set[str]:
        """Return the launches that find added tokens, as far as there are none to find."""
        if not self.finds_added[with_special]:
            return set(ADDED_STEPS)
        return {f"find_{kind}_added" for kind in KINDS if not self._has_kind[kind]}

    def forget(self) -> None:
        """Reset the word tables to the vocabulary's own tokens."""
        for name in _LEARNT:
            array = self._arrays[name]
            self._backend.copy(array, self._backend.zeros(array.size, array.dtype))
        self._seed()

    def address(self, with_special: bool) -> int:
        """Return the address of the struct."""
        return self._backend.address(self._structs[with_special])

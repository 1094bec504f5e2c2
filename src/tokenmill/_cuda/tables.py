"""A tokenizer for a device: the arrays and numbers of the struct Tables, and the macros of a build.

All of it is made from `Model.device_tables`. steps.py has the word tables, and support.py the
arrays for the normalizer and for added tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._cuda.char_tables import added_runs, blank_steps, joined_pairs
from tokenmill._cuda.word_tables import UNIGRAM_STEP, char_tables, keeps_last_blank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# Arrays that a device gets unchanged.
PLAIN = (
    "rule_basic", "rule_page_of", "rule_pages", "stage_basic", "stage_page_of", "stage_pages",
    "stage_next", "stage_sync", "pair_slots", "byte_pairs", "junction_words", "junction_flags",
    "junction_parts", "external", "token_bytes", "token_offsets", "char_symbols",
    "trie_cells", "trie_tokens", "trie_scores",
)  # fmt: skip
RULE = (
    "family", "contraction", "digits", "tail", "end_run", "isolate_digits", "isolate_han",
    "fold_long_s",
)  # fmt: skip
BYTES, CHARACTERS, WORD_PIECE, UNIGRAM = range(4)  # vocab::ModelKind
LOOKED_UP = (WORD_PIECE, UNIGRAM)
_STAGE = ("stage_basic", "stage_page_of", "stage_pages", "stage_next", "stage_sync")
CHARACTER = 3  # bytes: words are cut between characters of this size
ID_BITS = 20
LONGEST_WORD = 8192  # bytes; the CPU encodes longer ones
NOT_A_TOKEN = 0xFFFF_FFFF  # in "external"


def host_tables(device_tables: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the struct Tables by field, except those of the word tables."""
    tables = {name: device_tables[name] for name in PLAIN if name in device_tables}
    tables["token_bytes"] = np.pad(tables["token_bytes"], (0, 64))  # read in words
    if device_tables["kind"] in LOOKED_UP:
        return tables | char_tables(device_tables)._asdict()
    # A byte that is not a token: the CPU encodes its documents, but the kernels still write an id,
    # which must not be wider than others or it would spill into the next field.
    external = tables["external"]
    tables["external"] = np.where(external == NOT_A_TOKEN, np.uint32(0), external)
    tables["exact_slots"] = _exact_slots(device_tables)
    tables["early_parts"] = early_parts(device_tables)
    if device_tables["kind"] == CHARACTERS:
        tables["joined_pairs"] = joined_pairs(device_tables, added_runs(device_tables))
    return tables


def bounds_kernel(device_tables: Mapping[str, Any]) -> str:
    """Return the name of the kernel that finds words."""
    if device_tables["kind"] == CHARACTERS:
        return "bounds_pairs"
    if device_tables["kind"] in LOOKED_UP:
        return "bounds_classes"
    return "bounds_masks" if device_tables["rule"]["family"] else "bounds_scan"


def arena_step(device_tables: Mapping[str, Any]) -> int:
    """Return the most ids that a word has for each of its bytes."""
    if device_tables["kind"] == UNIGRAM:
        return UNIGRAM_STEP
    return 2 if blank_in_front(device_tables) else 1


def blank_in_front(device_tables: Mapping[str, Any]) -> int:
    """Return TM_IN_FRONT: which documents get a blank in front."""
    steps = blank_steps(device_tables) if device_tables["kind"] == CHARACTERS else None
    return steps.in_front if steps is not None else 0


def table_numbers(device_tables: Mapping[str, Any]) -> dict[str, int]:
    """Return the numbers of the struct Tables that belong to those arrays."""
    exact = exact_tokens(device_tables)
    sizes = np.diff(device_tables["token_offsets"].astype(np.int64))
    return {
        "exact_mask": _exact_room(exact.size) - 1,
        "exact_longest": int(sizes[exact].max(initial=0)),
    }


def defines(device_tables: Mapping[str, Any], tile: int = 8192) -> dict[str, int]:
    """Return the macros that specialise the kernels for a tokenizer."""
    rule = device_tables["rule"]
    return {
        **{f"TM_{name.upper()}": int(rule[name]) for name in RULE},
        "TM_STAGE_SHIFT": int(device_tables.get("stage_shift", 0)),
        "TM_STAGE_CLASSES": int(device_tables.get("stage_classes", 0)),
        "TM_STAGES": stage_count(device_tables),
        "TM_PAIR_SHIFT": int(device_tables.get("pair_shift", 0)),
        "TM_PAIR_MASK": int(device_tables.get("pair_mask", 0)),
        "TM_PARTS_MASK": int(device_tables.get("junction_parts_mask", 0)),
        "TM_EXACT": int(exact_tokens(device_tables).size > 0),
        "TM_PIECES": int(has_pieces(device_tables)),
        "TM_NORMAL": int(len(device_tables["normalizer"]) > 0),
        "TM_TILE": tile,
        **_character_defines(device_tables),
        **_look_up_defines(device_tables),
        "TM_ARENA_STEP": arena_step(device_tables),
    }


def _look_up_defines(device_tables: Mapping[str, Any]) -> dict[str, int]:
    """Return the macros of vocabularies whose words are looked up."""
    kind = device_tables["kind"]
    if kind not in LOOKED_UP:
        return {}
    found = {
        "TM_FAMILY": 0,  # the classes of characters are all that its split looks at
        "TM_NORMAL": 0,  # and the classes also say which ones the normalizer needs the CPU for
        "TM_UNKNOWN": int(device_tables["unk_id"]),
    }
    if kind == UNIGRAM:
        ring = max(1 << longest_token(device_tables).bit_length(), 8)  # any character fits
        return {
            **found,
            "TM_UNIGRAM": 1,
            "TM_RING": ring,
            "TM_CLOSING": int(keeps_last_blank(device_tables)),
        }
    return {
        **found,
        "TM_WORD_PIECE": 1,
        "TM_MAX_CHARACTERS": min(int(device_tables["max_characters"]), LONGEST_WORD),
        "TM_CONTINUES": int(device_tables["trie_continues"]),
    }


def longest_token(device_tables: Mapping[str, Any]) -> int:
    """Return the bytes of the longest token."""
    return int(np.diff(device_tables["token_offsets"].astype(np.int64)).max(initial=1))


def _character_defines(device_tables: Mapping[str, Any]) -> dict[str, int]:
    if device_tables["kind"] != CHARACTERS:
        return {}
    runs = added_runs(device_tables)
    return {
        "TM_FAMILY": 0,  # the pairs of neighbours are all that its split looks at
        "TM_NORMAL": 2 if device_tables["normalizer"] else 0,  # every marker is left to the CPU
        "TM_CHARACTERS": 1,
        "TM_FIRST_BYTE": int(device_tables["first_byte_id"]),
        "TM_IN_FRONT": blank_in_front(device_tables),
        "TM_RUN_BYTES": runs.mask,
        "TM_LONGEST_RUN": runs.limit,
    }


def stage_count(device_tables: Mapping[str, Any]) -> int:
    """Return how many automata find words, one after the other; a rule needs at most one."""
    has_rule = device_tables["rule"]["family"] != 0
    return 1 if has_rule else max(len(device_tables["stages"]), 1)


def chain_tables(device_tables: Mapping[str, Any]) -> list[NDArray[Any]]:
    """Return the arrays of a chain, five for each stage; none if there is only one stage."""
    if stage_count(device_tables) == 1:
        return []
    return [stage[name] for stage in device_tables["stages"] for name in _STAGE]


def chain_struct(device_tables: Mapping[str, Any], addresses: Sequence[int]) -> NDArray[np.uint64]:
    """Return the structs Stage (scan.h) of a chain, whose arrays have these addresses."""
    rows = []
    for number in range(len(addresses) // len(_STAGE)):
        stage = device_tables["stages"][number]
        numbers = [stage["stage_classes"], stage["stage_shift"], int(stage["stage_on_bytes"])]
        rows += [*addresses[len(_STAGE) * number :][: len(_STAGE)], *numbers]
    return np.array(rows, np.uint64)


def exact_tokens(device_tables: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the tokens that a whole word becomes although merging does not make them."""
    if not device_tables["ignore_merges"]:
        return np.empty(0, dtype=np.int64)
    is_text = np.diff(device_tables["token_offsets"].astype(np.int64)) > 0
    return np.flatnonzero(is_text & (device_tables["token_reachable"] == 0))


def has_pieces(device_tables: Mapping[str, Any]) -> bool:
    """Whether a word and an equal piece of a cut word may have different ids."""
    sizes = np.diff(device_tables["token_offsets"].astype(np.int64))
    return bool((sizes[exact_tokens(device_tables)] >= CHARACTER).any())


def early_parts(device_tables: Mapping[str, Any]) -> NDArray[np.uint32]:
    """Return a bit for each internal id that is a part of a merge whose rank is lower than its own.

    Only such a merge can enable one of a lower rank. All occurrences of any other merge in a word
    can be merged at once.
    """
    slots = device_tables["pair_slots"]
    slots = slots[slots != 0].astype(np.int64)
    mask = (1 << ID_BITS) - 1
    merged, right, left = slots & mask, slots >> ID_BITS & mask, (slots >> 2 * ID_BITS) - 1
    bits = np.zeros(-(-(1 << ID_BITS) // 8), dtype=np.uint8)
    for part in (left[left > merged], right[right > merged]):
        np.bitwise_or.at(bits, part >> 3, np.left_shift(1, part & 7).astype(np.uint8))
    return bits.view(np.uint32)


def exact_hash(token: bytes) -> int:
    """Return the hash of a token, the same as in exact.h.

    b"" -> 2166136261
    """
    value = 2166136261
    for byte in token:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value ^ value >> 15


def _exact_room(count: int) -> int:
    return 1 << max(2 * count, 1).bit_length()


def _exact_slots(device_tables: Mapping[str, Any]) -> NDArray[np.uint32]:
    """Return an open-addressed table of those tokens: id + 1, 0 is free."""
    exact = exact_tokens(device_tables)
    slots = np.zeros(_exact_room(exact.size), dtype=np.uint32)
    offsets, data = device_tables["token_offsets"], device_tables["token_bytes"].tobytes()
    for token in exact.tolist():
        at = exact_hash(data[int(offsets[token]) : int(offsets[token + 1])]) % slots.size
        while slots[at]:
            at = (at + 1) % slots.size
        slots[at] = token + 1
    return slots

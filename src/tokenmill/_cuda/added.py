"""Added tokens for a device: the filter that lists candidates, and the tries that decide.

`facts` are the `device_tables` of a model. The tries are those of the CPU engine, core/split/added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokenmill._cuda.added_texts import (
    KINDS,
    SPECIAL,
    STRIPS_LEFT,
    STRIPS_RIGHT,
    trie_texts,
)
from tokenmill._cuda.char_tables import added_runs
from tokenmill._cuda.tables import CHARACTERS, ID_BITS, NOT_A_TOKEN, blank_in_front

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Facts = Mapping[str, Any]

LONGEST = 255  # bytes; find_added.h
_LEAVE = 1 << 31  # only the CPU can cut it out
_WHITE = 1
_PREFIX_BYTES = 8
_FIRST_BYTES = 7  # the most that fit into a number with their count
_MOST_PREFIXES = 64
_BASIC = 0x10000


class AddedFilter(NamedTuple):
    """How the texts start that need a closer look: fields of the struct Tables."""

    added_first: NDArray[np.uint32]
    added_prefixes: NDArray[np.uint64]
    added_masks: NDArray[np.uint64]


def added_filter(texts: Iterable[bytes]) -> AddedFilter:
    """Return the first bytes of texts; a prefix that starts with another one is left out.

    Few enough to compare one by one: if there are too many, shorter prefixes cover several.
    """
    wanted = {text for text in texts if text}
    for size in range(_PREFIX_BYTES, 0, -1):
        prefixes = _shortest({text[:size] for text in wanted})
        if len(prefixes) <= _MOST_PREFIXES:
            break
    return AddedFilter(
        byte_bits(prefix[0] for prefix in prefixes),
        np.array([int.from_bytes(prefix, "little") for prefix in prefixes], np.uint64),
        np.array([(1 << 8 * len(prefix)) - 1 for prefix in prefixes], np.uint64),
    )


def _shortest(prefixes: set[bytes]) -> list[bytes]:
    """Return those that do not start with another one.

    {b"ab", b"abc", b"b"} -> [b"ab", b"b"]
    """
    return sorted(p for p in prefixes if not any(p[:n] in prefixes for n in range(1, len(p))))


def byte_bits(values: Iterable[int]) -> NDArray[np.uint32]:
    """Return a map of 256 bits with those of some bytes set."""
    bits = np.zeros(256, np.uint8)
    bits[list(values)] = 1
    return np.packbits(bits, bitorder="little").view(np.uint32)


def packed_first_bytes(first: NDArray[np.uint32]) -> int:
    """Pack the bytes of a map of 256 bits into a number: up to seven, and their count on top.

    [0, 2 ** 28, 0, 0, 0, 0, 0, 0] -> 0x010000000000003C
    """
    found = _bytes_in(first)
    few = bytes(found) if len(found) <= _FIRST_BYTES else b""
    return int.from_bytes(few, "little") | min(len(found), 255) << 56


def packed_second_bytes(found: AddedFilter) -> int:
    """Pack the second byte after each first one; on top a bit for each that has only one."""
    packed = 0
    for place, byte in enumerate(_bytes_in(found.added_first)[:_FIRST_BYTES]):
        own = [int(p) for p in found.added_prefixes if int(p) & 255 == byte]
        seconds = {prefix >> 8 & 255 for prefix in own}
        # A prefix of one byte: anything may follow.
        if len(seconds) == 1 and all(prefix >> 8 for prefix in own):
            packed |= seconds.pop() << 8 * place | 1 << 56 + place
    return packed


def _bytes_in(bits: NDArray[np.uint32]) -> list[int]:
    found: list[int] = np.flatnonzero(
        np.unpackbits(bits.view(np.uint8), bitorder="little")
    ).tolist()
    return found


def missing_bytes(facts: Facts) -> set[bytes]:
    """Return the bytes that are dropped from a word, which joins the bytes around them."""
    if not facts["drops_bytes"]:
        return set()
    return {bytes([byte]) for byte in np.flatnonzero(facts["external"][:256] == NOT_A_TOKEN)}


def wanted_texts(facts: Facts, *, with_special: bool) -> list[bytes]:
    """Return the texts that a text is searched for.

    A special token that counts as text still hides tokens that start inside of it. So all tokens of
    a kind are looked for, unless none of them is wanted.
    """
    flags = facts["added_tokens"].reshape(-1, 2)[:, 1]
    texts: set[bytes] = set()
    for kind in KINDS:
        found = trie_texts(facts, kind)
        if any(with_special or not flags[token] & SPECIAL for token in found.values()):
            texts.update(found)
    if facts["kind"] == CHARACTERS:  # merging makes these as well
        texts -= added_runs(facts).texts
    return sorted(texts)


def device_tokens(facts: Facts) -> NDArray[np.uint32]:
    """Return id and flags of each added token, with a flag for those that only the CPU cuts out.

    A token that strips white space is simple if no other token of its kind may want the same.
    """
    tokens: NDArray[np.uint32] = facts["added_tokens"].reshape(-1, 2).copy()
    tokens[tokens[:, 0] >= 1 << ID_BITS, 1] |= np.uint32(_LEAVE)
    # A blank that comes before a text is not before what follows such a token.
    left = {0: (), 1: ("normal",), 2: KINDS}[blank_in_front(facts)]
    for kind in left:
        tokens[list(trie_texts(facts, kind).values()), 1] |= np.uint32(_LEAVE)
    for kind in KINDS:
        texts = trie_texts(facts, kind)
        flags = np.bitwise_or.reduce(tokens[list(texts.values()), 1], initial=np.uint32(0))
        ends_white = any(_is_white(facts, text.decode()[-1]) for text in texts)
        begins_white = any(_is_white(facts, text.decode()[0]) for text in texts)
        for token in texts.values():
            own = tokens[token, 1]
            hard_left = own & STRIPS_LEFT and (ends_white or flags & STRIPS_RIGHT)
            hard_right = own & STRIPS_RIGHT and (begins_white or flags & STRIPS_LEFT)
            if hard_left or hard_right:
                tokens[token, 1] |= np.uint32(_LEAVE)
    return tokens.reshape(-1)


def _is_white(facts: Facts, character: str) -> bool:
    code = ord(character)
    if code < _BASIC:
        return bool(facts["added_basic"][code] & _WHITE)
    above = code - _BASIC
    page = int(facts["added_page_of"][above >> 8])
    return bool(facts["added_pages"][page << 8 | above & 255] & _WHITE)


def packed_nodes(facts: Facts, kind: str) -> NDArray[np.uint32]:
    """Return the nodes of a trie, each with the byte that leads to its first child."""
    nodes, edges = facts[f"{kind}_nodes"].reshape(-1, 3), facts[f"{kind}_edges"]
    first = edges[np.minimum(nodes[:, 0], edges.size - 1)].astype(np.uint32)
    return np.column_stack([nodes, first]).reshape(-1)


def run_table(facts: Facts) -> NDArray[np.uint32]:
    """Return what runs of one byte lead to, for both tries.

    First a number for each trie and byte: where its entries start, and in the highest byte how many
    there are. Entry d is for d times that byte: the node that they lead to, and in the highest byte
    the size of the longest token among them.
    """
    heads = np.zeros(2 * 256, np.uint32)
    entries: list[int] = []
    for number, kind in enumerate(KINDS):
        nodes = facts[f"{kind}_nodes"].reshape(-1, 3).tolist()
        edges = facts[f"{kind}_edges"].tolist()
        for byte in range(256):
            node, best = 0, 0
            own: list[int] = []
            while len(own) < LONGEST:
                first, count, _ = nodes[node]
                child = next((c for c in range(first, first + count) if edges[c] == byte), 0)
                if not child:
                    break
                node = child
                best = len(own) + 1 if nodes[node][2] else best
                own.append(node | best << 24)
            if own:
                heads[256 * number + byte] = heads.size + len(entries) | len(own) << 24
                entries += own
    return np.concatenate([heads, np.array(entries, np.uint32)])


def added_tables(facts: Facts) -> dict[str, NDArray[Any]]:
    """Return the arrays of the struct Tables that all calls share."""
    names = ("added_basic", "added_page_of", "added_pages", "raw_edges", "normal_edges")
    return {
        **{name: facts[name] for name in names},
        **{f"{kind}_nodes": packed_nodes(facts, kind) for kind in KINDS},
        "added_runs": run_table(facts),
        "added_tokens": device_tokens(facts),
        "missing_bytes": byte_bits(byte[0] for byte in missing_bytes(facts)),
    }


def added_numbers(facts: Facts) -> dict[str, int]:
    """Return the numbers of the struct Tables that all calls share."""
    texts = [text for kind in KINDS for text in trie_texts(facts, kind)]
    return {
        "added_longest": max(map(len, texts), default=0),
        "missing_count": len(missing_bytes(facts)),
    }

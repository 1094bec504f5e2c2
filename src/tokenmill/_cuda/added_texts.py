"""The added tokens of a model, from the tries in its `device_tables`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = ("raw", "normal")  # searched for in the raw text, and in the normalized text between those
SPECIAL, NORMALIZED, STRIPS_LEFT, STRIPS_RIGHT = 1, 2, 4, 8  # split::AddedFlag


class AddedText(NamedTuple):
    """An added token: its text, id and flags."""

    text: bytes
    id: int
    flags: int


def trie_texts(facts: Mapping[str, Any], kind: str) -> dict[bytes, int]:
    """Return the texts of a trie, and the numbers of their tokens."""
    nodes, edges = facts[f"{kind}_nodes"].reshape(-1, 3).tolist(), facts[f"{kind}_edges"].tolist()
    found = {}
    waiting = [(0, b"")]
    while waiting:
        node, text = waiting.pop()
        first, count, token = nodes[node]
        if token:
            found[text] = token - 1
        waiting += [(child, text + bytes([edges[child]])) for child in range(first, first + count)]
    return found


def added_texts(facts: Mapping[str, Any]) -> list[AddedText]:
    """Return the tokens of both tries."""
    tokens = facts["added_tokens"].reshape(-1, 2).tolist()
    return [
        AddedText(text, *tokens[number])
        for kind in KINDS
        for text, number in trie_texts(facts, kind).items()
    ]

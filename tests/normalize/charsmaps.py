"""Maps of characters as SentencePiece compiles them, built from a few replacements."""

from __future__ import annotations

import base64
import struct
from typing import Any

_BLOCK = 256


def build_charsmap(mapping: dict[bytes, str]) -> bytes:
    """Four bytes of size, a double array in which every node has 256 units, the replacements."""
    places: dict[str, int] = {}
    texts = b""
    root: dict[int, Any] = {}
    for key, value in mapping.items():
        if value not in places:
            places[value] = len(texts)
            texts += value.encode() + b"\0"
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[-1] = places[value]
    units = _units(root)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + texts


def encoded(mapping: dict[bytes, str]) -> str:
    """The same in the form of tokenizer.json."""
    return base64.b64encode(build_charsmap(mapping)).decode()


def _units(root: dict[int, Any]) -> list[int]:
    units: dict[int, int] = {}
    pending = [(root, 0, 0)]
    base = 0
    while pending:
        node, place, label = pending.pop()
        base += _BLOCK
        units[place] = (place ^ base) << 10 | (-1 in node) << 8 | label
        for byte, child in node.items():
            if byte == -1:
                units[base] = 1 << 31 | child
            else:
                pending.append((child, base ^ byte, byte))
    return [units.get(place, 0) for place in range(base + _BLOCK)]

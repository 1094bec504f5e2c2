"""Texts of any size, the same ones every time: a few pages that ship in the package, varied.

Pieces of a page are drawn at random, and some of their words are replaced by other words of the
page. So a long text repeats itself about as much as real text does, not every 20 KB.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

_FILE = "bench_texts.json.xz"
_POOL_BYTES = 400_000
_REPLACED = 0.08  # of the words
_LINE = re.compile(r"(?<=\n)")
_SENTENCE = re.compile(r"(?<=[.:;])\s+|(?<=\n)")


class _Page(NamedTuple):
    """Where a page may be cut, and which of its words may be replaced."""

    cut: re.Pattern[str]
    word: re.Pattern[str]


_PAGES = {
    "english": _Page(_SENTENCE, re.compile(r"[A-Za-z]{3,}")),
    "code": _Page(_LINE, re.compile(r"[A-Za-z]{4,}")),
    "chinese": _Page(_LINE, re.compile("[\u4e00-\u9fff]{2}")),
}
KINDS = tuple(_PAGES)


def text_of(kind: str, size: int, seed: int = 0) -> str:
    """Return `size` bytes of UTF-8, or a few less where a character would be cut."""
    pieces, mean = _pool(kind)
    chance = random.Random(f"{kind} {size} {seed}")  # noqa: S311 -- test data, not a secret
    raw = b""
    while len(raw) < size:
        raw += "".join(chance.choices(pieces, k=int((size - len(raw)) / mean) + 4)).encode()
    return raw[:size].decode(errors="ignore")


def sentences(number: int) -> list[str]:
    """Return sentences of 40 to 200 characters."""
    pieces, _ = _pool("english")
    found = [" ".join(piece.split()) for piece in pieces]
    fitting = [piece for piece in found if 40 <= len(piece) <= 200]  # noqa: PLR2004 -- a sentence
    return fitting[:number]


def _read(kind: str) -> str:
    data = files("tokenmill").joinpath(f"data/{_FILE}").read_bytes()
    page: str = json.loads(lzma.decompress(data))[kind]
    return page


@cache
def _pool(kind: str) -> tuple[list[str], float]:
    """Return pieces to draw from, and their mean size in bytes."""
    page, rule = _read(kind), _PAGES[kind]
    pieces = _pieces(page, rule.cut)
    words = rule.word.findall(page)
    chance = random.Random(kind)  # noqa: S311 -- test data, not a secret

    def other(match: re.Match[str]) -> str:
        return chance.choice(words) if chance.random() < _REPLACED else match[0]

    varied: list[str] = []
    size = 0
    while size < _POOL_BYTES:
        piece = rule.word.sub(other, chance.choice(pieces))
        varied.append(piece)
        size += len(piece.encode())
    return varied, size / len(varied)


def _pieces(page: str, cut: re.Pattern[str]) -> list[str]:
    """Cut a page after sentences or lines; blanks stay with what they follow."""
    bounds = [0, *(match.end() for match in cut.finditer(page)), len(page)]
    return [page[a:b] for a, b in pairwise(bounds) if page[a:b].strip()]

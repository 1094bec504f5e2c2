"""Words of a text: by the real engines, and by a plain walk over compiled tables."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import tiktoken
from tokenizers import Regex, pre_tokenizers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokenmill._compile.dfa_tables import StageTables

MATCH_BIT = 0x8000


def walk(tables: StageTables, text: str) -> list[str]:
    """Split a text as the stage does, one character at a time."""
    begins = tables.ranges[:, 0].tolist()
    numbers = tables.ranges[:, 2].tolist()
    symbols = [numbers[bisect_right(begins, ord(c)) - 1] for c in text] + [tables.n_classes]
    table = tables.next.tolist()
    words: list[str] = []
    gap = position = 0
    while position < len(text):
        end = _match_end(table, symbols, position)
        if end < 0:
            position += 1
            continue
        if gap < position and tables.keep_gap:
            words.append(text[gap:position])
        if tables.keep_match:
            words.append(text[position:end])
        gap = position = end
    if gap < position and tables.keep_gap:
        words.append(text[gap:position])
    return words


def walk_stages(stages: Iterable[StageTables], text: str) -> list[str]:
    """Split a text by stages, each applied to the words of the one before."""
    words = [text] if text else []
    for stage in stages:
        words = [word for piece in words for word in walk(stage, piece)]
    return words


def onig_words(
    pattern: str, text: str, *, behavior: str = "isolated", invert: bool = False
) -> list[str]:
    """Split a text with the Split of `tokenizers`."""
    split = pre_tokenizers.Split(Regex(pattern), behavior, invert)
    return [word for word, _ in split.pre_tokenize_str(text)]


class FancyWords:
    """The split of `tiktoken`, made visible: every possible word of the texts is one token."""

    def __init__(self, pattern: str, words: Iterable[str]) -> None:
        ranks = {bytes([byte]): byte for byte in range(256)}
        for word in words:
            ranks.setdefault(word.encode(), len(ranks))
        self._tokens = list(ranks)
        self._encoding = tiktoken.Encoding(
            "words", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )

    def __call__(self, text: str) -> list[bytes]:
        """Words of a text; a word that is not a token comes out in pieces."""
        return [self._tokens[number] for number in self._encoding.encode_ordinary(text)]


def fancy_words(pattern: str, text: str) -> list[str]:
    """Split a short text with the splitter inside `tiktoken`."""
    every = (text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1))
    return [word.decode() for word in FancyWords(pattern, every)(text)]


def _match_end(table: Sequence[Sequence[int]], symbols: Sequence[int], position: int) -> int:
    state, end = 1, -1
    while state:
        entry = table[state][symbols[position]]
        if entry & MATCH_BIT:
            end = position
        state = entry & ~MATCH_BIT
        position += 1
    return end

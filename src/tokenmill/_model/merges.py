"""Ranks of tokens -> the merges of a tokenizer.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def derive_merges(tokens: Sequence[AnyStr]) -> list[tuple[AnyStr, AnyStr]]:
    """Return the merges that do what ranks do; `tokens` are in the order of their ranks.

    With ranks, any two neighbours merge if together they are a token. But everything between the
    ends of a token merges as if it were alone, until one pair is left: no other pair ever makes the
    token. So the merges are that one pair for each token, in the order of the ranks. Tokens are
    merged from bytes, or from characters if they are strings.

        derive_merges([b"a", b"b", b"ab", b"abb"]) -> [(b"a", b"b"), (b"ab", b"b")]
    """
    ranks = {token: rank for rank, token in enumerate(tokens)}
    pairs = (_pair_of(token, ranks) for token in tokens if len(token) > 1)
    return [pair for pair in pairs if pair is not None]


def _pair_of(token: AnyStr, ranks: Mapping[AnyStr, int]) -> tuple[AnyStr, AnyStr] | None:
    """Find the pair. If only one is possible, it does not matter whether it ever comes about."""
    cuts = [i for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
    if len(cuts) <= 1:
        return (token[: cuts[0]], token[cuts[0] :]) if cuts else None
    return _last_pair(token, ranks)


def _last_pair(token: AnyStr, ranks: Mapping[AnyStr, int]) -> tuple[AnyStr, AnyStr] | None:
    """Merge the bytes or characters of a token down to two parts; None if that is not possible."""
    parts = [token[i : i + 1] for i in range(len(token))]
    none = len(ranks)
    scores = [ranks.get(token[i : i + 2], none) for i in range(len(token) - 1)]
    while len(parts) > 2:  # noqa: PLR2004
        best = min(scores)
        if best == none:
            return None
        at = scores.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del scores[at]
        for neighbour in (at - 1, at):
            if 0 <= neighbour < len(scores):
                scores[neighbour] = ranks.get(parts[neighbour] + parts[neighbour + 1], none)
    return parts[0], parts[1]

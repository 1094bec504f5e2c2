"""Byte-pair encoding, slow and obvious: the answers that core/encode must give."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._spec import BpeModel


class ReferenceBpe:
    """Words to ids, straight from a `BpeModel`.

    1. With `ignore_merges`, a word that is a token as a whole becomes that token.
    2. Else the word is a row of single-byte tokens. A byte that has no token is left out, and its
       neighbours then touch.
    3. Of all neighbours that may merge, the pair with the lowest priority merges; of equal pairs
       the leftmost. Repeat until none may.  With `merges` the priority of a pair is its place in
       the list; with `ranks` it is the rank of the token with the joined bytes.
    """

    def __init__(self, model: BpeModel) -> None:
        self._model = model
        self._ids = {token: i for i, token in enumerate(model.tokens) if token is not None}
        self._priorities: dict[tuple[bytes, bytes], int] = {}
        if model.merges is not None:
            for priority, (left, right) in enumerate(model.merges.tolist()):
                pair = (model.tokens[left] or b"", model.tokens[right] or b"")
                self._priorities[pair] = priority
        self._cache: dict[bytes, list[int]] = {}

    def __call__(self, word: bytes) -> list[int]:
        if word not in self._cache:
            self._cache[word] = self._encode(word)
        return self._cache[word]

    def _encode(self, word: bytes) -> list[int]:
        if self._model.ignore_merges and word in self._ids:
            return [self._ids[word]]
        row = [bytes([byte]) for byte in word if bytes([byte]) in self._ids]
        while True:
            priorities = [self._priority(row[i], row[i + 1]) for i in range(len(row) - 1)]
            possible = [priority for priority in priorities if priority is not None]
            if not possible:
                return [self._ids[token] for token in row]
            at = priorities.index(min(possible))
            row[at : at + 2] = [row[at] + row[at + 1]]

    def _priority(self, left: bytes, right: bytes) -> int | None:
        if self._model.ranks is None:
            return self._priorities.get((left, right))
        token_id = self._ids.get(left + right)
        return None if token_id is None else int(self._model.ranks[token_id])

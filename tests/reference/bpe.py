r"""Byte-pair encoding, slow and obvious: the answers that core/encode must give.

What `tokenizers` (0.23) does with one word, established by probing it:

* With `ignore_merges`, a word that is a token as a whole (without the suffix) is that token.
* Else the word becomes a row of symbols, one for each byte or character. The last one has the
  `suffix` after it before it is looked up, so "z" may be unknown where "z</w>" is a token.
* A symbol that is not a token is, over bytes, left out, and its neighbours then touch.
  Over characters it becomes the tokens of its bytes (`byte_ids`), else `unk_id`, else it is left
  out just the same.
* `fuse_unk`: a run of unknown characters is one unknown. Only a *known* character ends a run, so
  what is left out or falls back to bytes would not; with all 256 byte tokens there are no
  unknowns at all.
* Merging knows ids alone. An unknown is the token `unk_id` and merges as that token does: with
  the unknown token "a" and the merge "a b", the text "zb" is "ab". The tokens of bytes merge
  too, if merges with "<0x0A>" exist.
* Of all neighbours that may merge, the pair with the lowest priority merges; of equal pairs
  the leftmost. Repeat until none may.  With `merges` the priority of a pair is its place in
  the list; with `ranks` it is the rank of the token with the joined bytes.
* An empty word has no ids.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._spec import BpeModel

NEVER = 1 << 40


class ReferenceBpe:
    """Words to ids, straight from a `BpeModel`."""

    def __init__(self, model: BpeModel) -> None:
        self._model = model
        self._ids = {token: i for i, token in enumerate(model.tokens) if token is not None}
        self._priorities: dict[tuple[int, int], int] = {}
        if model.merges is not None:
            for priority, (left, right) in enumerate(model.merges.tolist()):
                self._priorities[left, right] = priority
        self._cache: dict[bytes, list[int]] = {}

    def __call__(self, word: bytes) -> list[int]:
        if word not in self._cache:
            self._cache[word] = self._encode(word)
        return self._cache[word]

    def _encode(self, word: bytes) -> list[int]:
        if self._model.ignore_merges and word in self._ids:
            return [self._ids[word]]
        row = self._symbols(word)
        priorities = [self._priority(left, right) for left, right in pairwise(row)]
        while min(priorities, default=NEVER) < NEVER:
            at = priorities.index(min(priorities))
            row[at : at + 2] = [self._ids[self._token(row[at]) + self._token(row[at + 1])]]
            around = row[max(at - 1, 0) : at + 2]
            renewed = [self._priority(left, right) for left, right in pairwise(around)]
            priorities[max(at - 1, 0) : at + 2] = renewed
        return row

    def _symbols(self, word: bytes) -> list[int]:
        if self._model.symbols == "bytes":
            parts = [bytes([byte]) for byte in word]
        else:
            parts = [character.encode() for character in word.decode()]
        row: list[int] = []
        after_unknown = False
        for index, part in enumerate(parts):
            symbol = part + self._model.suffix if index + 1 == len(parts) else part
            if symbol in self._ids:
                row.append(self._ids[symbol])
                after_unknown = False
            elif self._model.byte_ids is not None:
                row += [self._model.byte_ids[byte] for byte in symbol]
            elif self._model.unk_id is not None:
                if not (after_unknown and self._model.fuse_unk):
                    row.append(self._model.unk_id)
                after_unknown = True
        return row

    def _priority(self, left: int, right: int) -> int:
        if self._model.ranks is None:
            return self._priorities.get((left, right), NEVER)
        token_id = self._ids.get(self._token(left) + self._token(right))
        return NEVER if token_id is None else int(self._model.ranks[token_id])

    def _token(self, token_id: int) -> bytes:
        return self._model.tokens[token_id] or b""

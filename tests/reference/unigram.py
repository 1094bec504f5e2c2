r"""Unigram, slow and obvious: the answers that core/encode must give.

What `tokenizers` (0.23) does with one word, established by probing it:

* Every piece of the vocabulary is looked for in the text, control pieces such as "<s>", "<unk>"
  and "<0x41>" too. Of equal pieces the last counts, with its own score. The empty piece is never
  found.
* Scores are float64. Those of a file are not what its decimal numbers mean to the nearest bit:
  the loader reads them as the library does, and the last bit does decide now and then.
* Forward over the text: best[0] = 0; for every begin (each character, in order) and every piece
  that the text has there, shortest first, the candidate is score + best[begin] in float64, a sum
  from left to right. It replaces best[end] if that is not set yet or if the candidate is
  *greater*. So of equal sums the one found first stays: the last piece that begins leftmost,
  that is the longest one.
* If no piece is exactly the one character at `begin`, the character may be unknown: a candidate
  for best[begin + 1] like any other, after all pieces, with the score (least score of the whole
  vocabulary, unreachable pieces included) - 10.0. So a character can be unknown even where longer
  pieces cover it, if that gives the greater sum.
* Backward: what was found as `unk_id` (unknown characters, and the unknown piece itself where its
  text is in the word) is joined with its neighbours of that kind to one.
* Each part is then looked up *by its text*: joined unknowns that happen to be a piece are that
  piece. If there is none, they are the tokens of all their bytes (`byte_ids`), else `unk_id`.
  The joined text of "<unk>" and an unknown character so becomes bytes, the text "<unk>" too.
* `sentencepiece` does otherwise (`whole_text`); this is not described here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._spec import UnigramModel

UNKNOWN_PENALTY = 10.0


class ReferenceUnigram:
    """Words to ids, straight from a `UnigramModel`."""

    def __init__(self, model: UnigramModel) -> None:
        assert not model.whole_text
        assert model.unk_id is not None
        self._unk_id = model.unk_id
        self._byte_ids = model.byte_ids
        self._ids = {t.decode(): i for i, t in enumerate(model.tokens) if t is not None}
        self._scores = model.scores.tolist()
        self._unknown = min(self._scores) - UNKNOWN_PENALTY
        self._longest = max(map(len, self._ids), default=0)
        self._cache: dict[bytes, list[int]] = {}

    def __call__(self, word: bytes) -> list[int]:
        if word not in self._cache:
            text = word.decode()
            parts = self._joined(text, self._best(text))
            self._cache[word] = [i for part in parts for i in self._lookup(part)]
        return self._cache[word]

    def _best(self, text: str) -> list[tuple[int, int]]:
        """For every end of a piece, where the best last piece begins and its id."""
        found: list[tuple[int, int] | None] = [None] * (len(text) + 1)
        best = [0.0] * (len(text) + 1)

        def offer(begin: int, end: int, score: float, token_id: int) -> None:
            total = score + best[begin]
            if found[end] is None or total > best[end]:
                found[end], best[end] = (begin, token_id), total

        for begin in range(len(text)):
            for end in range(begin + 1, min(begin + self._longest, len(text)) + 1):
                token_id = self._ids.get(text[begin:end])
                if token_id is not None:
                    offer(begin, end, self._scores[token_id], token_id)
            if text[begin] not in self._ids:
                offer(begin, begin + 1, self._unknown, self._unk_id)
        return [(0, 0) if node is None else node for node in found]

    def _joined(self, text: str, nodes: list[tuple[int, int]]) -> list[str]:
        parts: list[str] = []
        after_unknown = False
        end = len(text)
        while end:
            begin, token_id = nodes[end]
            is_unknown = token_id == self._unk_id
            if is_unknown and after_unknown:
                parts[-1] = text[begin:end] + parts[-1]
            else:
                parts.append(text[begin:end])
            after_unknown = is_unknown
            end = begin
        return parts[::-1]

    def _lookup(self, part: str) -> list[int]:
        if part in self._ids:
            return [self._ids[part]]
        if self._byte_ids is not None:
            return [self._byte_ids[byte] for byte in part.encode()]
        return [self._unk_id]

"""SentencePiece, slow and obvious: text to ids and back, straight from a `TokenizerSpec`.

The answers are those of the library `sentencepiece` (0.2.2), and compared with it in the tests.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._spec import NO_RANK, BpeModel, UnigramModel, WordLevelModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._spec import SentencePieceNormalizer, TokenizerSpec

SPACE = "\u2581"
# A sum beyond it is taken off all others.
LARGEST_SUM = np.float32(100_000)


class ReferenceSentencePiece:
    """Encodes and decodes as the spec of a `.model` file says."""

    def __init__(self, spec: TokenizerSpec) -> None:
        assert spec.sentencepiece is not None
        self._spec = spec
        self._normalizer = Normalizer(spec.sentencepiece)
        self._added = {token.content: token.id for token in spec.added_tokens}
        model = spec.model
        self._segment = _Unigram(model) if isinstance(model, UnigramModel) else _Merger(model)

    def encode(self, text: str) -> list[int]:
        """Normalize; cut the added tokens out; each range between them is for the model."""
        ids: list[int] = []
        for part, is_added in _cut(self._normalizer(text), self._added):
            ids += [self._added[part]] if is_added else self._segment(part)
        return ids

    def decode(self, ids: list[int]) -> str:
        decoder = self._spec.sentencepiece_decoder
        assert decoder is not None
        bytes_of = {i: byte for byte, i in enumerate(decoder.byte_ids or ())}
        written = ""
        run = b""
        strips = decoder.strip != "none"
        for i in [*ids, None]:
            if i in bytes_of:
                run += bytes([bytes_of[i]])
                continue
            written += _decode_bytes(run)
            run = b""
            if i is None or i in decoder.control_ids:
                continue
            if i == decoder.unk_id:
                written += decoder.unk_surface
                continue
            piece = self._spec.texts[i] or ""
            if strips and not written and piece.startswith(SPACE):
                piece = piece[1:]
                strips = decoder.strip == "all"
            written += piece.replace(SPACE, " ")
        return written


def _decode_bytes(run: bytes) -> str:
    """Decode with one U+FFFD for each byte that is wrong, where Python joins some of them."""
    text = ""
    while run:
        try:
            return text + run.decode()
        except UnicodeDecodeError as error:
            text += run[: error.start].decode() + "\ufffd"
            run = run[error.start + 1 :]
    return text


def _cut(text: str, added: dict[str, int]) -> Iterator[tuple[str, bool]]:
    """Cut out the leftmost, and there the longest, of the added tokens, again and again."""
    longest_first = sorted(added, key=len, reverse=True)
    start = at = 0
    while at < len(text):
        found = next((token for token in longest_first if text.startswith(token, at)), None)
        if found is None:
            at += 1
            continue
        if start < at:
            yield text[start:at], False
        yield found, True
        at += len(found)
        start = at
    if start < at:
        yield text[start:at], False


class Normalizer:
    """`SentencePieceNormalizer`, its rules one after the other."""

    def __init__(self, rules: SentencePieceNormalizer) -> None:
        self._rules = rules
        self._protected = sorted((p.encode() for p in rules.protected), key=len, reverse=True)
        size = int.from_bytes(rules.charsmap[:4], "little")
        self._units = np.frombuffer(rules.charsmap[4 : 4 + size], dtype="<u4").tolist()
        self._values = rules.charsmap[4 + size :]

    def __call__(self, text: str) -> str:
        rules = self._rules
        outcomes = list(self._outcomes(text.encode()))
        if rules.remove_extra_whitespaces:
            while outcomes and outcomes[0] == " ":
                del outcomes[0]
        if not outcomes:
            return ""
        blank = SPACE if rules.escape_whitespaces else " "
        result = ""
        if rules.add_dummy_prefix and not rules.whitespace_as_suffix:
            result = blank
        after_blank = rules.remove_extra_whitespaces
        for outcome in outcomes:
            kept = outcome.lstrip(" ") if after_blank else outcome
            result += kept.replace(" ", blank)
            if kept:
                after_blank = rules.remove_extra_whitespaces and kept.endswith(" ")
        if rules.remove_extra_whitespaces:
            result = result.rstrip(blank)
        if rules.add_dummy_prefix and rules.whitespace_as_suffix:
            result += blank
        return result

    def _outcomes(self, data: bytes) -> Iterator[str]:
        at = 0
        while at < len(data):
            taken, outcome = self._outcome(data, at)
            yield outcome.decode()
            at += taken

    def _outcome(self, data: bytes, at: int) -> tuple[int, bytes]:
        for protected in self._protected:
            if data.startswith(protected, at):
                return len(protected), protected
        found = self._longest_key(data, at)
        if found is not None:
            return found
        size = 1
        while at + size < len(data) and data[at + size] & 0xC0 == 0x80:
            size += 1
        return size, data[at : at + size]

    def _longest_key(self, data: bytes, at: int) -> tuple[int, bytes] | None:
        if not self._units:
            return None
        found = None
        place = _base(0, self._units[0])
        for index in range(at, len(data)):
            place ^= data[index]
            unit = self._units[place]
            if unit & 0x8000_00FF != data[index]:
                break
            place = _base(place, unit)
            if unit & 0x100:
                value = self._units[place] & 0x7FFF_FFFF
                end = self._values.index(b"\0", value)
                found = (index + 1 - at, self._values[value:end])
        return found


def _base(place: int, unit: int) -> int:
    return place ^ ((unit >> 10) << ((unit & 0x200) >> 6))


class _Unigram:
    """The best sum of scores, all of it in float32.

    The sums go from left to right; of equal ones that end at the same place, the one whose last
    piece is longest stays.
    """

    def __init__(self, model: UnigramModel) -> None:
        self._model = model
        pieces = [(t, i) for i, t in enumerate(model.tokens) if t is not None]
        self._ids = {piece.decode(): i for piece, i in pieces}
        self._longest = max(len(piece) for piece in self._ids)
        self._scores = model.scores.astype(np.float32)
        least = min(self._scores[i] for _, i in pieces)
        self._unknown = np.float32(least - np.float32(10))

    def __call__(self, text: str) -> list[int]:
        ids: list[int] = []
        was_unknown = False
        for piece, token_id in self._best(text):
            if token_id is not None:
                ids.append(token_id)
            elif self._model.byte_ids is not None:
                ids += [self._model.byte_ids[byte] for byte in piece.encode()]
            elif not was_unknown:
                assert self._model.unk_id is not None
                ids.append(self._model.unk_id)
            was_unknown = token_id is None
        return ids

    def _best(self, text: str) -> list[tuple[str, int | None]]:
        best: list[tuple[np.float32, int, int | None] | None] = [None] * (len(text) + 1)
        best[0] = (np.float32(0), 0, None)
        for start in range(len(text)):
            before = best[start]
            assert before is not None
            if abs(before[0]) > LARGEST_SUM:
                for at in range(start, min(start + self._longest, len(text) + 1)):
                    there = best[at]
                    best[at] = there and (np.float32(there[0] - before[0]), *there[1:])
                before = best[start]
                assert before is not None
            for end, token_id in self._pieces_at(text, start):
                score = self._unknown if token_id is None else self._scores[token_id]
                total = np.float32(before[0] + score)
                there = best[end]
                if there is None or total > there[0]:
                    best[end] = (total, start, token_id)
        path = []
        end = len(text)
        while end:
            entry = best[end]
            assert entry is not None
            path.append((text[entry[1] : end], entry[2]))
            end = entry[1]
        return path[::-1]

    def _pieces_at(self, text: str, start: int) -> Iterator[tuple[int, int | None]]:
        """Every piece that begins here, and the unknown one if the character is not a piece."""
        for end in range(start + 1, min(start + self._longest, len(text)) + 1):
            token_id = self._ids.get(text[start:end])
            if token_id is not None:
                yield end, token_id
            elif end == start + 1:
                yield end, None


class _Merger:
    """Merging of characters, the lowest rank first, of equal ranks the leftmost; or whole words."""

    def __init__(self, model: object) -> None:
        assert isinstance(model, (BpeModel, WordLevelModel))
        self._model = model
        self._ids = {token.decode(): i for i, token in enumerate(model.tokens) if token is not None}

    def __call__(self, text: str) -> list[int]:
        model = self._model
        if isinstance(model, WordLevelModel):
            row = _words(text)
            byte_ids, fuses = None, True
        else:
            row = self._merged(text)
            byte_ids, fuses = model.byte_ids, model.fuse_unk
        assert model.unk_id is not None
        ids: list[int] = []
        was_unknown = False
        for symbol in row:
            is_unknown = symbol not in self._ids
            if not is_unknown:
                ids.append(self._ids[symbol])
            elif byte_ids is not None:
                ids += [byte_ids[byte] for byte in symbol.encode()]
            elif not (fuses and was_unknown):
                ids.append(model.unk_id)
            was_unknown = is_unknown
        return ids

    def _merged(self, text: str) -> list[str]:
        row = list(text)
        ranks = [self._rank(left + right) for left, right in pairwise(row)]
        while (best := min(ranks, default=NO_RANK)) != NO_RANK:
            at = ranks.index(best)
            row[at : at + 2] = [row[at] + row[at + 1]]
            del ranks[at]
            # Only the pairs with the new symbol have changed.
            for pair in range(max(at - 1, 0), min(at + 1, len(ranks))):
                ranks[pair] = self._rank(row[pair] + row[pair + 1])
        return row

    def _rank(self, joined: str) -> int:
        assert isinstance(self._model, BpeModel)
        assert self._model.ranks is not None
        token_id = self._ids.get(joined)
        return NO_RANK if token_id is None else int(self._model.ranks[token_id])


def _words(text: str) -> list[str]:
    """Every U+2581 begins a word."""
    starts = [at for at, character in enumerate(text) if at == 0 or character == SPACE]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]

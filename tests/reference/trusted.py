"""Text that is trusted in parts, slow and obvious: a flag for every character.

The rule (decision 0011), for each of the two passes of added_tokens.py:

1. Cut the text into runs of characters that are all trusted or all not. Search every trusted run by
   itself, as if nothing were around it; what is found there and is a control token stays one.
2. Search what lies between those tokens as always, with every control token refused.

Only normalizers that look at one character at a time are supported here.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from tests.reference.added_tokens import Range, candidates, take, touches_word
from tests.reference.spec_encoder import SpecEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.reference.added_tokens import Candidate

    from tokenmill._spec import AddedToken, TokenizerSpec

Parts = list[tuple[str, bool]]


class TrustedEncoder:
    """Parts to ids. Where the model itself makes a control token, it loses that word."""

    def __init__(self, spec: TokenizerSpec, control: Sequence[str] = ()) -> None:
        self._spec = spec
        self._plain = SpecEncoder(spec)
        self._names = {token.content for token in spec.added_tokens if token.special} | {*control}
        self._ids = {token.id for token in spec.added_tokens if token.content in self._names}
        self._ids.discard(getattr(spec.model, "unk_id", -1))
        words = enumerate(spec.model.tokens)  # type: ignore[union-attr]
        tokens = tuple(None if i in self._ids else word for i, word in words)
        guarded = replace(spec, model=replace(spec.model, tokens=tokens))  # type: ignore[arg-type]
        self._guarded = SpecEncoder(guarded)

    def encode(self, parts: Parts) -> list[int]:
        pieces = self.pieces(parts)
        ids = self._plain.encode_pieces(pieces)
        put = [piece.id for piece in pieces if piece.id in self._ids]
        made = [token for token in ids if token in self._ids]
        return ids if made == put else self._guarded.encode_pieces(pieces)

    def pieces(self, parts: Parts) -> list[Range]:
        flags = [flag for text, flag in parts for _ in text]
        text = "".join(text for text, _ in parts)
        tokens, normalize = self._spec.added_tokens, self._plain.normalize
        raw = {token.content: token for token in tokens if not token.normalized}
        late = {normalize(token.content): token for token in tokens if token.normalized}
        result: list[Range] = []
        at = 0
        for piece in self._cut(text, flags, raw):
            here = flags[at : at + len(piece.text)]
            at += len(piece.text)
            if piece.id is None and not late:
                result += take(normalize(piece.text), [])
            elif piece.id is None:
                result += self._cut(*_normalized(piece.text, here, normalize), late)
            else:
                result.append(piece)
        return result

    def _cut(self, text: str, flags: list[bool], tokens: dict[str, AddedToken]) -> list[Range]:
        found: list[Candidate] = []
        at = 0
        for flag, run in groupby(flags):
            end = at + len(list(run))
            if flag:
                found += [c for c in self._search(text, at, end, tokens) if self._is_control(c[2])]
            at = end
        everything: list[Candidate] = []
        at = 0
        for control in [*found, None]:
            end = len(text) if control is None else control[0]
            between = self._search(text, at, end, tokens)
            everything += [c for c in between if not self._is_control(c[2])]
            if control is not None:
                everything.append(control)
                at = control[1]
        return take(text, everything)

    def _search(
        self, text: str, begin: int, end: int, tokens: dict[str, AddedToken]
    ) -> list[Candidate]:
        found = [
            (begin + i, begin + j, token) for i, j, token in candidates(text[begin:end], tokens)
        ]
        return [c for c in found if not (c[2].single_word and touches_word(text, c[0], c[1]))]

    def _is_control(self, token: AddedToken) -> bool:
        return token.content in self._names


def _normalized(
    text: str, flags: list[bool], normalize: Callable[[str], str]
) -> tuple[str, list[bool]]:
    characters = [normalize(character) for character in text]
    assert "".join(characters) == normalize(text), "a normalizer that looks at neighbours"
    return "".join(characters), [
        flag for flag, new in zip(flags, characters, strict=True) for _ in new
    ]

"""Longest match over bytes in plain Python, for vocabularies that no library is a reference for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._errors import UnknownId, UnsupportedTokenizer
from tokenmill._reference.spans import Spans, covered
from tokenmill._spec import LongestMatchModel

if TYPE_CHECKING:
    from tokenmill._spec import TokenizerSpec


class LongestMatch:
    """At every place the longest token that the rest begins with; every byte is a token."""

    def __init__(self, spec: TokenizerSpec) -> None:
        if not isinstance(spec.model, LongestMatchModel):
            raise UnsupportedTokenizer("not a model of longest matches", where=spec.name)
        self._tokens = spec.model.tokens
        self._ids = {token: i for i, token in enumerate(self._tokens) if token is not None}
        # The lengths there are for each first two bytes, the longest first.
        lengths: dict[bytes, set[int]] = {}
        for token in self._ids:
            lengths.setdefault(token[:2], set()).add(len(token))
        self._lengths = {begin: sorted(found, reverse=True) for begin, found in lengths.items()}

    def encode_all(self, texts: list[str], add_special: bool, as_text: bool) -> list[list[int]]:
        """Encode; there are no special tokens, so the options change nothing."""
        return [self._encode(text.encode()) for text in texts]

    def encode_spans(
        self, texts: list[str], add_special: bool, as_text: bool
    ) -> tuple[list[list[int]], list[Spans]]:
        """Encode; also return which characters each id covers."""
        rows = self.encode_all(texts, add_special, as_text)
        pieces = [[self._tokens[i] or b"" for i in row] for row in rows]
        return rows, [covered(text, row) for text, row in zip(texts, pieces, strict=True)]

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        """Join the bytes of tokens; none of them is special."""
        found = [self._tokens[token_id] for token_id in ids]
        if None in found:
            hole = ids[found.index(None)]
            raise UnknownId(f"no token has the id {hole}", id=hole)
        return b"".join([token for token in found if token is not None])

    def id_to_token(self, token_id: int) -> str | None:
        """Return a token as text, with U+FFFD for half a character."""
        token = self._tokens[token_id] if 0 <= token_id < len(self._tokens) else None
        return None if token is None else token.decode(errors="replace")

    def token_to_id(self, token: str) -> int | None:
        """Find a token by its text."""
        return self._ids.get(token.encode("utf-8", "surrogatepass"))

    def _encode(self, data: bytes) -> list[int]:
        row: list[int] = []
        at = 0
        while at < len(data):
            for length in (*self._lengths.get(data[at : at + 2], ()), 1):
                token_id = self._ids.get(data[at : at + length])
                if token_id is not None and at + length <= len(data):
                    row.append(token_id)
                    at += length
                    break
        return row

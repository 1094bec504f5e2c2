"""Steps over a row of tokens, fed piece by piece: texts of tokens in, texts of tokens out.

A step that only knows the token before it can be fed a row at once or token by token, with the
same result; `finish` returns what it still held back. A step is made for one decoding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from tokenmill._decode.clean import TOKEN_CLEAN_UP, replace_all
from tokenmill._load.byte_level import ALPHABET

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill._spec import DecoderStep

    Mapping = Callable[[str], str]

REPLACEMENT = "\ufffd"
_BYTE_OF = {character: byte for byte, character in enumerate(ALPHABET)}
# Rust's parser of numbers takes a sign: "<0x+A>" is the byte 10.
_BYTE = re.compile(r"<0x([0-9a-fA-F]{2}|\+[0-9a-fA-F])>")


class TokenStep(Protocol):
    """A step that may hold tokens back."""

    def feed(self, tokens: list[str]) -> list[str]:
        """Take the next tokens and return those that are certain."""

    def finish(self) -> list[str]:
        """Return the tokens that were held back."""


class Each:
    """Every token by itself."""

    def __init__(self, change: Mapping) -> None:
        self._change = change

    def feed(self, tokens: list[str]) -> list[str]:
        """Change every token."""
        return list(map(self._change, tokens))

    def finish(self) -> list[str]:
        """Nothing is held."""
        return []


class FirstAndRest:
    """The first token in another way than the others."""

    def __init__(self, first: Mapping, rest: Mapping) -> None:
        self._change = first
        self._rest = rest

    def feed(self, tokens: list[str]) -> list[str]:
        """Change every token; the first one that ever comes is the first."""
        if not tokens or self._change is self._rest:
            return list(map(self._rest, tokens))
        head = self._change(tokens[0])
        self._change = self._rest
        return [head, *map(self._rest, tokens[1:])]

    def finish(self) -> list[str]:
        """Nothing is held."""
        return []


class LastAndRest:
    """The last token in another way than the others, so that one is always held back."""

    def __init__(self, last: Mapping, rest: Mapping) -> None:
        self._last = last
        self._rest = rest
        self._held: list[str] = []

    def feed(self, tokens: list[str]) -> list[str]:
        """Change all tokens but the newest."""
        known = self._held + tokens
        self._held = known[-1:]
        return list(map(self._rest, known[:-1]))

    def finish(self) -> list[str]:
        """Change the last one."""
        return list(map(self._last, self._held))


class ByteRuns:
    """Runs of byte tokens become text, or one U+FFFD a byte if the run as a whole is not UTF-8."""

    def __init__(self) -> None:
        self._run = bytearray()

    def feed(self, tokens: list[str]) -> list[str]:
        """Pass on other tokens; a run is certain when one of those follows it."""
        out: list[str] = []
        for token in tokens:
            byte = byte_of(token)
            if byte is not None:
                self._run.append(byte)
                continue
            if self._run:
                out += self.finish()
            out.append(token)
        return out

    def finish(self) -> list[str]:
        """End the run."""
        run, self._run = self._run, bytearray()
        if not run:
            return []
        try:
            return [run.decode()]
        except UnicodeDecodeError:
            return [REPLACEMENT] * len(run)


class WithoutRepeats:
    """Of equal neighbours one; then every token by itself, and those that vanish are dropped."""

    def __init__(self, change: Mapping) -> None:
        self._change = change
        self._before: str | None = None

    def feed(self, tokens: list[str]) -> list[str]:
        """Drop, change, drop."""
        out: list[str] = []
        for token in tokens:
            if token != self._before:
                self._before = token
                out.append(self._change(token))
        return [token for token in out if token]

    def finish(self) -> list[str]:
        """Nothing is held."""
        return []


def byte_of(token: str) -> int | None:
    """Read "<0x41>"."""
    # The length first: hardly any token has it.
    if len(token) != 6 or token[0] != "<":  # noqa: PLR2004
        return None
    found = _BYTE.fullmatch(token)
    return int(found[1], 16) if found else None


def bytes_of(token: str) -> bytes:
    """Return what the byte-level decoder writes: the bytes spelled, else the token's own UTF-8."""
    try:
        return bytes([_BYTE_OF[character] for character in token])
    except KeyError:
        return token.encode()


def strip(step: DecoderStep) -> Mapping:
    """Take at most `left` and `right` characters off the sides."""

    def change(token: str) -> str:
        begin, end = 0, len(token)
        while begin < min(step.left, end) and token[begin] == step.a:
            begin += 1
        least = max(begin, end - step.right)
        while end > least and token[end - 1] == step.a:
            end -= 1
        return token[begin:end]

    return change


def replace(old: str, new: str) -> Mapping:
    """Replace every occurrence."""
    return lambda token: token.replace(old, new)


def word_pieces(step: DecoderStep) -> tuple[Mapping, Mapping]:
    """Return what WordPiece makes of the first token and of the others."""

    def rest(token: str) -> str:
        text = token[len(step.a) :] if token.startswith(step.a) else f" {token}"
        return replace_all(text, TOKEN_CLEAN_UP) if step.flag else text

    def first(token: str) -> str:
        return replace_all(token, TOKEN_CLEAN_UP) if step.flag else token

    return first, rest


def ctc(step: DecoderStep) -> Mapping:
    """Return what CTC writes for a token that does not repeat the one before."""

    def change(token: str) -> str:
        text = token.replace(step.a, "")
        if not step.flag:
            return text
        return replace_all(text, TOKEN_CLEAN_UP).replace(step.b, " ")

    return change

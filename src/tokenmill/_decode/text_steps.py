"""Steps over one text that arrives in pieces: what comes after all tokens have been joined.

`feed` returns what has become certain, `finish` the rest: together they equal the step applied to
the whole text, however it was cut. Each costs time in proportion to the piece, not to the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class TextStep(Protocol):
    """A step that may hold text back."""

    def feed(self, text: str) -> str:
        """Take the next piece and return what is certain."""

    def finish(self) -> str:
        """Return what was held back."""


class ReplaceInText:
    """Every occurrence of one text by another; holds what may be the beginning of one."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self._held = ""

    def feed(self, text: str) -> str:
        """Replace what is complete."""
        old = self._old
        known = self._held + text
        end = known.rfind(old[0], max(len(known) - len(old) + 1, 0)) if known else -1
        if end < 0 and old not in known:  # nothing found, and nothing that might become one
            self._held = ""
            return known
        *done, tail = known.split(old)
        kept = _overlap(tail, old)
        self._held = tail[len(tail) - kept :]
        return self._new.join([*done, tail[: len(tail) - kept]])

    def finish(self) -> str:
        """Return a beginning that stayed one."""
        held, self._held = self._held, ""
        return held


class StripText:
    """A character off both ends of the text, at most `left` and `right` times."""

    def __init__(self, character: str, left: int, right: int) -> None:
        self._character = character
        self._left = left
        self._right = right
        self._held = 0

    def feed(self, text: str) -> str:
        """Hold back what may turn out to be the end."""
        if self._left:
            text = self._without_front(text)
        if not self._right or not text:
            return text
        bare = text.rstrip(self._character)
        run = len(text) - len(bare) + (0 if bare else self._held)
        before = self._held if bare else 0
        self._held = min(run, self._right)
        return self._character * before + bare + self._character * (run - self._held)

    def finish(self) -> str:
        """Drop the end."""
        return ""

    def _without_front(self, text: str) -> str:
        bare = text.lstrip(self._character)
        cut = min(len(text) - len(bare), self._left)
        # Another character ends the front for good.
        self._left = 0 if bare else self._left - cut
        return text[cut:]


class WholeText:
    """A step that has to see the end of the text before it returns anything."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change
        self._parts: list[str] = []

    def feed(self, text: str) -> str:
        """Hold everything."""
        self._parts.append(text)
        return ""

    def finish(self) -> str:
        """Change the whole."""
        return self._change("".join(self._parts))


def _overlap(tail: str, old: str) -> int:
    """Return the length of the longest end of `tail` that begins `old` and is shorter than it."""
    most = min(len(tail), len(old) - 1)
    return next((size for size in range(most, 0, -1) if tail.endswith(old[:size])), 0)

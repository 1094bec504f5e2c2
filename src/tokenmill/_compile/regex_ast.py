"""The parts of a parsed split pattern, and the reasons why one may not become an automaton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tokenmill._compile.char_sets import CharSet

Mode = Literal["greedy", "lazy", "possessive"]


class NotRegular(Exception):  # noqa: N818  (a property of the pattern, caught by the loader)
    """A valid pattern whose exact meaning no table can hold; the message explains why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Char:
    """One character of a set. `folded` lists the ASCII letters that were widened by (?i)."""

    chars: CharSet
    folded: str = ""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The next character must be in `chars`, or, if `at_end`, there may be none."""

    chars: CharSet
    at_end: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other; empty: the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first option that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`part` at least `least` and at most `most` times (None: without limit)."""

    part: Node
    least: int
    most: int | None
    mode: Mode


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first match of `part`, never given back."""

    part: Node


Node = Char | Ahead | Sequence | Choice | Repeat | Atomic


def is_nullable(node: Node) -> bool:
    """Whether the node can match without consuming a character."""
    match node:
        case Char():
            return False
        case Ahead():
            return True
        case Sequence(parts):
            return all(is_nullable(part) for part in parts)
        case Choice(options):
            return any(is_nullable(option) for option in options)
        case Repeat(part, least, _, _):
            return least == 0 or is_nullable(part)
        case Atomic(part):
            return is_nullable(part)


def single_set(node: Node) -> CharSet | None:
    """Return the set if the node matches exactly one character of a set, whatever follows."""
    match node:
        case Char(chars):
            return chars
        case Sequence((part,)) | Choice((part,)) | Atomic(part) | Repeat(part, 1, 1, _):
            return single_set(part)
        case _:
            return None

"""Reading position in a pattern, with the errors that point at it."""

from __future__ import annotations

from typing import Literal, NoReturn

from tokenmill._compile.regex_ast import NotRegular
from tokenmill._errors import PatternError

Dialect = Literal["onig", "fancy"]


class Cursor:
    """A pattern, the dialect it is written in, and how far it has been read."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.offset = 0

    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self.offset >= len(self.pattern)

    def sees(self, text: str) -> bool:
        """Whether `text` comes next."""
        return self.pattern.startswith(text, self.offset)

    def take(self, text: str) -> bool:
        """Step over `text` if it comes next."""
        found = self.sees(text)
        if found:
            self.offset += len(text)
        return found

    def next_char(self) -> str:
        """Step over one character and return it."""
        if self.at_end():
            self.fail("the pattern ends in the middle of something")
        self.offset += 1
        return self.pattern[self.offset - 1]

    def until(self, stop: str) -> str:
        """Step over everything up to and including `stop`; return what came before it."""
        end = self.pattern.find(stop, self.offset)
        if end < 0:
            self.fail(f"expected {stop!r}, got the end of the pattern")
        text = self.pattern[self.offset : end]
        self.offset = end + len(stop)
        return text

    def fail(self, problem: str) -> NoReturn:
        """Raise: the pattern is wrong here."""
        raise PatternError(problem, pattern=self.pattern, offset=self.offset)

    def refuse(self, what: str) -> NoReturn:
        """Raise: the pattern may be right, but no table can hold it."""
        message = f"{what} at character {self.offset} of {self.pattern!r}"
        raise NotRegular(message)

"""Requests as a service would get them, made from real text: with and without sharing."""

from __future__ import annotations

import lzma
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SYSTEM_PROMPTS = 20
CONVERSATIONS = 240
MOST_TURNS = 8


def read_text(path: Path, size: int) -> str:
    """Return the first `size` characters of a text file, compressed or not."""
    if path.suffix == ".xz":
        with lzma.open(path, "rt", encoding="utf-8", errors="replace") as file:
            return file.read(size)
    return path.read_text("utf-8", errors="replace")[:size]


class Pages:
    """Cuts stretches off a long text, so that no two are the same."""

    def __init__(self, text: str, seed: int) -> None:
        self._text = text
        self._at = 0
        self.choose = random.Random(seed)  # noqa: S311

    def take(self, least: int, most: int) -> str:
        """Return the next stretch; short ones are as likely as long ones, by their logarithm."""
        size = int(least * (most / least) ** self.choose.random())
        if self._at + size > len(self._text):
            self._at = 0  # from the start again, at other places: the lengths are random
        self._at += size
        return self._text[self._at - size : self._at]


def chat(marks: tuple[str, str]) -> Callable[[str, str], str]:
    """Return a template that puts special tokens around every message."""
    return lambda role, text: f"{marks[0]}{role}\n{text}{marks[1]}\n"


def plain(role: str, text: str) -> str:
    """Write a message without any special token."""
    return f"{role.upper()}: {text}\n\n"


def conversations(
    prose: str, schemas: str, message: Callable[[str, str], str], seed: int = 1
) -> list[str]:
    """Growing conversations that take turns; popular system prompts with tools of 10 to 100 KB."""
    pages, tools = Pages(prose, seed), Pages(schemas, seed)
    systems = [message("system", tools.take(10_000, 100_000)) for _ in range(SYSTEM_PROMPTS)]
    popularity = [1 / (rank + 1) for rank in range(SYSTEM_PROMPTS)]
    choose = pages.choose
    open_ones: list[Iterator[str]] = []
    for _ in range(CONVERSATIONS):
        system = choose.choices(systems, popularity)[0]
        open_ones.append(_turns(system, message, pages, choose.randrange(1, MOST_TURNS + 1)))
    requests = []
    while open_ones:
        one = choose.randrange(min(len(open_ones), 16))  # so many are active at a time
        request = next(open_ones[one], None)
        if request is None:
            open_ones.pop(one)
        else:
            requests.append(request)
    return requests


def _turns(
    text: str, message: Callable[[str, str], str], pages: Pages, count: int
) -> Iterator[str]:
    for _ in range(count):
        text += message("user", pages.take(100, 4000))
        yield text
        text += message("assistant", pages.take(200, 8000))


def independent(prose: str, seed: int = 2) -> list[str]:
    """Texts of 0.5 to 100 KB that share nothing."""
    pages = Pages(prose, seed)
    return [pages.take(500, 100_000) for _ in range(2400)]

"""Tokenizers written in Python, for worker processes: whatever starts them must import this."""

from __future__ import annotations

import os
from typing import Any


class Words:
    """Numbers words by their length; knows its end token by id only."""

    eos_token_id = 1
    pad_token_id = 0

    def encode(self, text: str) -> list[int]:
        if text == "a bad one":
            raise KeyError("no such word")
        return [len(word) + 10 for word in text.split()]


class Callable(Words):
    """The same, called, and in another form."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": Words().encode(text)}

    encode = None  # type: ignore[assignment]


class Processes(Words):
    """Every document is the number of the process that read it."""

    def encode(self, text: str) -> list[int]:
        return [os.getpid()]


class Dies(Words):
    """Takes its process with it."""

    def encode(self, text: str) -> list[int]:
        if "die" in text:
            os._exit(3)
        return [1]


class Gives(Words):
    """Returns the result it was given."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def encode(self, text: str) -> Any:
        return self.result


class Stays(Words):
    """Cannot leave its process."""

    def __init__(self) -> None:
        self.held = lambda: None

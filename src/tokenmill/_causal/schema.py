"""The keys of a configuration, as data: validation, messages and the reference page read these."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

SECTION = "tokenizer"  # the outer key that a YAML file or a dict may have


@dataclass(frozen=True)
class Range:
    """Whole numbers from `least` to `most`, both included; None for `most` means no limit."""

    least: int
    most: int | None = None

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return self.least <= value and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"a whole number from {self.least}"
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True)
class Choices:
    """One of these words."""

    words: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Name:
    """A text that is not empty, or a path if it may be one; `meaning` describes it."""

    meaning: str
    may_be_path: bool = False

    def __contains__(self, value: object) -> bool:
        if self.may_be_path and isinstance(value, os.PathLike):
            return True
        return isinstance(value, str) and bool(value.strip())

    def __str__(self) -> str:
        return self.meaning


@dataclass(frozen=True)
class Switch:
    """True or false; not 0, 1 or words such as yes."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Key:
    """One key: what it may hold and what it means.

    With the default None, null is allowed too, and `null_means` explains it.
    """

    name: str
    type: type
    default: Any
    allowed: Range | Choices | Name | Switch
    meaning: str
    null_means: str = ""

    @property
    def allows_null(self) -> bool:
        """Whether the key may be null."""
        return self.default is None

    @property
    def allowed_words(self) -> str:
        """The allowed values, for messages and the reference page."""
        return f"{self.allowed}, or null" if self.allows_null else str(self.allowed)

    def accepts(self, value: object) -> bool:
        """Whether the key may hold a value."""
        return (value is None and self.allows_null) or value in self.allowed


KEYS: tuple[Key, ...] = (
    Key(
        "context_length",
        int,
        None,
        Range(1, 2**31 - 1),  # a list column of Arrow counts with 32 bits
        "Tokens per row.",
        "`model_max_length` of the tokenizer if it is from 1 to 1048576, else 2048; the choice is "
        "logged",
    ),
    Key(
        "overlap",
        int,
        0,
        Range(0),
        "Tokens that a row shares with the previous one; less than context_length.",
    ),
    Key(
        "tokenizer_name",
        str,
        None,
        Name("a hub id or a path", may_be_path=True),
        "The tokenizer: a hub id (owner/name, or a legacy name such as gpt2), a file or a folder.",
        "the built-in tokenizer",
    ),
    Key(
        "verbose_level",
        str,
        "INFO",
        Choices(("DEBUG", "INFO", "WARNING", "ERROR")),
        "The lowest level of messages that the logger 'tokenmill' logs.",
    ),
    Key(
        "batch_size",
        int,
        None,
        Range(1, 10_000),
        "Documents tokenized at a time.",
        "chosen from the available memory and the size of the documents; 6000 is typical",
    ),
    Key(
        "num_proc",
        int,
        None,
        Range(1, 32),
        "Worker processes of a slow Python tokenizer; 1 runs in this process, for debugging. "
        "Native and fast tokenizers use threads and ignore it.",
        "half of the physical cores",
    ),
    Key(
        "show_progress",
        bool,
        True,
        Switch(),
        "Show a progress bar on stderr.",
    ),
)

BY_NAME = {key.name: key for key in KEYS}

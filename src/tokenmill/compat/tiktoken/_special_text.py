"""Checks of texts and ids, and the search for special tokens in a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NoReturn


def text_of(text: object) -> str:
    """Return a str; TypeError for anything else, also for bytes, which the engine would take."""
    if not isinstance(text, str):
        raise TypeError(f"text: expected str, got {type(text).__name__}")
    return text


def index_of(token: Any) -> int:  # anything
    """Return a whole number; TypeError for anything else."""
    return int(token.__index__()) if hasattr(token, "__index__") else _no_number(token)


def _no_number(token: object) -> NoReturn:
    raise TypeError(f"token: expected a whole number, got {type(token).__name__}")


def repaired(text: str) -> str:
    """Join pairs of surrogates, and replace lone ones with U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(maxsize=128)
def pattern_of(tokens: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of the tokens, in a group."""
    return re.compile(f"({'|'.join(map(re.escape, tokens))})")


def refuse(text: str, tokens: frozenset[str]) -> None:
    """Raise ValueError if a text has one of the tokens."""
    if tokens and (match := pattern_of(tokens).search(text)):
        token = match.group()
        raise ValueError(
            f"Encountered text corresponding to disallowed special token {token!r}.\n"
            f"hint: allowed_special={{{token!r}}} encodes it as the token, "
            "disallowed_special=() encodes all such text as text"
        )

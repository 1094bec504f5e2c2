"""Checks of option values: numbers, shares and choices, each with one wording."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeVar

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection

Choice = TypeVar("Choice")

_PERCENT = 100


def whole_number(
    name: str, value: object, *, least: int = 1, most: int | None = None, hint: str = ""
) -> int:
    """Return `value` as an int; OptionError unless it is a whole number in the range.

    Integers of numpy and others count, booleans do not.
    """
    number = _as_int(value)
    if number is None or number < least or (most is not None and number > most):
        end = "" if most is None else f" to {most}"
        raise OptionError(
            f"expected a whole number from {least}{end}, got {value!r}", where=name, hint=hint
        )
    return number


def whole_number_or_none(name: str, value: object) -> int | None:
    """Return None, which means no limit, or a whole number from 1."""
    return None if value is None else whole_number(name, value)


def one_of(name: str, value: object, choices: Collection[Choice]) -> Choice:
    """Return the choice that equals `value`; OptionError lists them all."""
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return choice
    expected = ", ".join(map(repr, choices))
    raise OptionError(f"expected one of {expected}, got {value!r}", where=name)


def true_or_false(name: str, value: object) -> bool:
    """Return a bool; OptionError for anything else, also for 0, 1 and words."""
    if not isinstance(value, bool):
        raise OptionError(f"expected True or False, got {value!r}", where=name)
    return value


def share(name: str, value: object) -> float:
    """Return a share from 0 up to, but not including, 1: 0.01, "0.01" or "1%"."""
    text = str(value).strip()
    try:
        number = float(text[:-1]) / _PERCENT if text.endswith("%") else float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise OptionError(f"expected a share such as 0.01 or 1%, got {value!r}", where=name)
    return number


def _as_int(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None

"""Lines of a report.

A line has a label of twelve columns, a number of twelve, what it counts, and a note. Only a path
may go past column 100.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 100
_LABEL = 12
_NUMBER = 12
_NAME = 16


def line(label: str, number: str, what: str, note: str = "") -> str:
    """Write a line with a number; a line without a label belongs to the one above."""
    head = f"{label:<{_LABEL}}{number:>{_NUMBER}}  "
    return f"{head}{what:<{_NAME}}  {note}".rstrip() if note else head + what


def note(label: str, text: str) -> str:
    """Write a line of words."""
    return f"{label:<{_LABEL}}{text}"


def counted(number: int, name: str) -> str:
    """Write a number of things: `counted(1, "shard") == "1 shard"`."""
    return f"{number:,} {named(number, name)}"


def named(number: int, name: str) -> str:
    """Return the word for one thing or several."""
    return name if number == 1 else f"{name}s"


def listed(names: Sequence[str], width: int) -> str:
    """Return as many names as fit, and how many more there are."""
    for shown in range(len(names), 0, -1):
        more = len(names) - shown
        text = ", ".join(names[:shown]) + (f" and {more:,} more" if more else "")
        if len(text) <= width or shown == 1:
            return text
    return ""

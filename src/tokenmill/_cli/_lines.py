"""Lines of a report, and numbers as people write them.

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
_KILO = 1000
_ROUND = 10  # from here on numbers have no fraction
_LEAST = 0.01
_MINUTE = 60


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


def rate(value: float) -> str:
    """Write a number of things in a second: "0.25", "7.1", "68,000", "3.2 M"."""
    if value >= _KILO * _KILO:
        return f"{_short(value / _KILO / _KILO)} M"
    return _short(value)


def duration(seconds: float) -> str:
    """Write a time: "0.4 s", "3 min 07 s", "2 h 15 min"."""
    minutes, rest = divmod(seconds, _MINUTE)
    hours, minutes = divmod(int(minutes), _MINUTE)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02.0f} s" if minutes else f"{rest:.1f} s"


def size(count: int) -> str:
    """Write a number of bytes: "12 B", "3.4 MB"."""
    number = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if number < _KILO:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= _KILO
    return f"{number:.1f} TB"


def _short(value: float) -> str:
    if value < _LEAST:
        return f"less than {_LEAST}"
    return f"{value:,.0f}" if value >= _ROUND else f"{value:.2g}"

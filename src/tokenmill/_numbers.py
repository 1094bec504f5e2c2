"""Numbers as people write them: on a terminal, in messages and on pages."""

from __future__ import annotations

_KILO = 1000
_ROUND = 10  # from here on numbers have no fraction
_LEAST = 0.01
_MINUTE = 60


def size(count: float) -> str:
    """Write a number of bytes: "12 B", "3.4 MB"."""
    number = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if number < _KILO:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= _KILO
    return f"{number:.1f} TB"


def rate(value: float) -> str:
    """Write a number of things in a second: "0.25", "7.1", "68,000", "3.2 M"."""
    if value >= _KILO * _KILO:
        return f"{_few_digits(value / _KILO / _KILO)} M"
    return _few_digits(value)


def short(value: float) -> str:
    """Write a large number in few characters: "1.24 G"."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(value) < _KILO:
            return f"{value:,.0f}" if not unit else f"{value:.3g} {unit}"
        value /= _KILO
    return f"{value:,.0f} P"


def duration(seconds: float, *, is_rough: bool = False) -> str:
    """Write a time: "0.4 s", "3 min 07 s", "2 h 15 min"; a rough one has no parts of a second."""
    seconds = round(seconds) if is_rough else seconds
    minutes, rest = divmod(seconds, _MINUTE)
    hours, minutes = divmod(int(minutes), _MINUTE)
    if hours:
        return f"{hours} h {minutes:02d} min"
    if minutes:
        return f"{minutes} min {rest:02.0f} s"
    return f"{rest} s" if is_rough else f"{rest:.1f} s"


def percent(share: float) -> str:
    """Write a share: "12.5 %", "under 0.01 %"."""
    if 0 < share < _LEAST * _LEAST:
        return "under 0.01 %"
    return f"{share * 100:.3g} %" if share < 1 else "100 %"


def _few_digits(value: float) -> str:
    if value < _LEAST:
        return f"less than {_LEAST}"
    return f"{value:,.0f}" if value >= _ROUND else f"{value:.2g}"

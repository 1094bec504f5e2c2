"""Figures as people write them, in tables and on pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._bench.intervals import Interval

MICRO = "\u00b5s"
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, MICRO), (1e-9, "ns"))
_LARGE = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def time_text(seconds: float) -> str:
    """Write a time with three digits: "370 ns", "1.17 ms", "12.4 s"."""
    for unit, name in _UNITS:
        if seconds >= unit * 0.9995:
            return f"{three_digits(seconds / unit)} {name}"
    return "0 s" if seconds <= 0 else f"{seconds * 1e9:.2g} ns"


def short_time(seconds: float) -> str:
    """Write a round time, as on an axis: "10 ms"."""
    number, unit = time_text(seconds).split(" ")
    return f"{float(number.replace(',', '')):g} {unit}"


def short_number(value: float) -> str:
    """Write a round number, as on an axis: "1,500", "0.5"."""
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"  # noqa: PLR2004 -- no fraction


def rate_text(value: float) -> str:
    """Write a number of things in a second: "812", "68.1 k", "3.2 M"."""
    for unit, name in _LARGE:
        if value >= unit * 0.9995:
            return f"{three_digits(value / unit)} {name}"
    return three_digits(value)


def three_digits(value: float) -> str:
    """Write a number with three digits: "1.23", "12.3", "1,234"."""
    if value >= 99.95:  # noqa: PLR2004 -- rounds to 100
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"  # noqa: PLR2004


def spread_text(interval: Interval) -> str:
    """Write how far an interval reaches, the longer side: "2%"."""
    if not interval.value or not interval.confidence:  # of one process nothing is known
        return "-"
    reach = max(interval.high - interval.value, interval.value - interval.low) / interval.value
    return f"{reach * 100:.1f}%" if reach < 0.0995 else f"{reach * 100:.0f}%"  # noqa: PLR2004


def change_text(ratio: Interval) -> str:
    """Write how much longer something takes, with its interval: "+5.1 % (+4.4 to +5.9)"."""
    value, low, high = ((x - 1) * 100 for x in (ratio.value, ratio.low, ratio.high))
    return f"{value:+.1f} % ({low:+.1f} to {high:+.1f})"


def ratio_text(values: list[float]) -> str:
    """Write how many times as long something takes: "3.4 (3.0-3.6)"."""
    value, low, high = (three_digits(x) for x in values)
    return f"{value} ({low}-{high})"

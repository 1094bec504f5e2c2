"""Two charts as SVG text: lines over a size, and ranges in rows. Colours come from the page."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Points = Sequence[tuple[float, float]]

COLOURS = 6  # classes c0 to c5 of the page
_LINE_HEIGHT = 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 16, 12, 44
_ROW, _NARROW_ROW, _NARROW = 24, 40, 480
_CHARACTER = 6.4  # of a label, in units of the picture


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart."""

    name: str
    points: Points


@dataclass(frozen=True)
class MarkedRange:
    """A row: a mark at `value`, a bar from `low` to `high`, and rings at `others`, none at 0."""

    name: str
    value: float
    low: float
    high: float
    text: str
    others: Sequence[float] = ()
    colour: int = 0


@dataclass(frozen=True)
class Axis:
    """A scale: what it shows, how its numbers are written, and whether it is logarithmic.

    `least`: the scale reaches down to here at least; `mark`: a line across all rows.
    """

    title: str
    write: Callable[[float], str] = field(default=lambda value: f"{value:g}")
    is_log: bool = True
    least: float | None = None
    mark: float | None = None


def line_chart(lines: Sequence[ChartLine], across: Axis, up: Axis, width: int) -> str:
    """Draw lines with their points."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    x_scale = _Scale(across, xs, _LEFT + 8, width - _RIGHT - 8)
    y_scale = _Scale(up, ys, _LINE_HEIGHT - _BOTTOM - 6, _TOP + 6)
    parts = [
        *_vertical_axis(y_scale, width),
        *_horizontal_axis(x_scale, _LINE_HEIGHT, sorted(set(xs))),
    ]
    for number, line in enumerate(lines):
        places = [(x_scale(x), y_scale(y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="line c{number % COLOURS}" points="{path}"/>')
        for (x, y), (at, value) in zip(places, line.points, strict=True):
            tip = f"{line.name}, {across.write(at)}: {up.write(value)}"
            place = f'cx="{x:.1f}" cy="{y:.1f}" r="3.5"'
            kind = f"dot c{number % COLOURS}"
            parts.append(f'<circle class="{kind}" {place}><title>{escape(tip)}</title></circle>')
    return _picture(width, _LINE_HEIGHT, parts, f"{up.title} by {across.title}")


def range_chart(ranges: Sequence[MarkedRange], axis: Axis, width: int) -> str:
    """Draw one row for each range: right of its name, or below it in a narrow picture."""
    is_narrow = width < _NARROW
    row = _NARROW_ROW if is_narrow else _ROW
    longest = max(len(found.name) for found in ranges)
    left = 10 if is_narrow else min(_CHARACTER * longest + 14, width * 0.4)
    right = 12 + _CHARACTER * max(len(found.text) for found in ranges) * (not is_narrow)
    values = [v for found in ranges for v in (found.low, found.high, found.value, *found.others)]
    scale = _Scale(axis, values, left, width - right)
    bottom = _TOP + row * len(ranges)
    parts = list(_horizontal_axis(scale, bottom + _BOTTOM, scale.ticks()))
    for number, found in enumerate(ranges):
        y = _TOP + row * number + row / 2
        parts += _range(found, scale, y, left=left, width=width, is_narrow=is_narrow)
    return _picture(width, bottom + _BOTTOM, parts, axis.title)


def _range(
    found: MarkedRange, scale: _Scale, y: float, *, left: float, width: int, is_narrow: bool
) -> Iterator[str]:
    label_y = y - 8 if is_narrow else y + 4
    mark_y = y + 8 if is_narrow else y
    anchor, x = ("start", left) if is_narrow else ("end", left - 8)
    yield _text(x, label_y, found.name, anchor, "name")
    yield _text(width - 4, label_y, found.text, "end", "value")
    a, b, at = scale(found.low), scale(found.high), scale(found.value)
    kind = f"c{found.colour % COLOURS}"
    if found.others:
        ends = [at, *map(scale, found.others)]
        yield _stroke(f"reach {kind}", (min(ends), mark_y), (max(ends), mark_y))
    yield _stroke(f"bar {kind}", (a, mark_y), (b, mark_y))
    for other in filter(None, found.others):
        yield f'<circle class="ring {kind}" cx="{scale(other):.1f}" cy="{mark_y:.1f}" r="3"/>'
    tip = escape(f"{found.name}: {found.text}")
    yield (f'<circle class="dot {kind}" cx="{at:.1f}" cy="{mark_y:.1f}" r="4.5">'
           f"<title>{tip}</title></circle>")  # fmt: skip


class _Scale:
    """Values -> places between `begin` and `end`."""

    def __init__(self, axis: Axis, values: Sequence[float], begin: float, end: float) -> None:
        self.axis = axis
        self.begin, self.end = begin, end
        known = [value for value in values if value > 0 or not axis.is_log]
        extra = [x for x in (axis.least, axis.mark) if x is not None]
        low, high = min([*known, *extra]), max([*known, *extra])
        self.low, self.high = self._widened(low, high)

    def _widened(self, low: float, high: float) -> tuple[float, float]:
        if not self.axis.is_log:
            room = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
            return (low if low == self.axis.least else low - room), high + room
        return low / 1.15, high * 1.15

    def __call__(self, value: float) -> float:
        if self.axis.is_log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, room: float = 62) -> list[float]:
        """Return round values, so few that each has `room`."""
        found = self._log_ticks() if self.axis.is_log else self._even_ticks()
        most = max(2, int(abs(self.end - self.begin) / room))
        step = -(-len(found) // most)
        return found[::step]

    def _log_ticks(self) -> list[float]:
        for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
            exponents = range(
                math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1
            )
            found = [s * 10.0**e for e in exponents for s in steps]
            inside = [tick for tick in found if self.low <= tick <= self.high]
            if len(inside) >= 3:  # noqa: PLR2004 -- two do not show a scale
                return inside
        return self._even_ticks()

    def _even_ticks(self) -> list[float]:
        room = (self.high - self.low) / 5
        size = 10 ** math.floor(math.log10(room))
        step = next(size * s for s in (1, 2, 5, 10) if size * s >= room)
        first = math.ceil(self.low / step)
        return [number * step for number in range(first, math.floor(self.high / step) + 1)]


def _horizontal_axis(scale: _Scale, height: float, ticks: Sequence[float]) -> Iterator[str]:
    foot = height - _BOTTOM + 6
    last = -math.inf
    for tick in ticks:
        x, text = scale(tick), scale.axis.write(tick)
        yield _stroke("grid", (x, _TOP), (x, foot))
        half = len(text) * _CHARACTER / 2
        if x - half > last:
            yield _text(x, foot + 14, text, "middle")
            last = x + half + 6
    if scale.axis.mark is not None:
        x = scale(scale.axis.mark)
        yield _stroke("mark", (x, _TOP), (x, foot))
    middle = (scale.begin + scale.end) / 2
    yield _text(middle, foot + 30, scale.axis.title, "middle", "title")


def _vertical_axis(scale: _Scale, width: int) -> Iterator[str]:
    for tick in scale.ticks(room=30):
        y = scale(tick)
        yield _stroke("grid", (_LEFT, y), (width - _RIGHT, y))
        yield _text(_LEFT - 6, y + 4, scale.axis.write(tick), "end")


def _stroke(kind: str, begin: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = begin, end
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _picture(width: int, height: float, parts: Sequence[str], title: str) -> str:
    return (f'<svg viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{escape(title)}">'
            + "".join(parts) + "</svg>")  # fmt: skip

"""The page: complete, offline, well-formed, with every row and every warning in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from tests.bench.reports import report_of, row_of

from tokenmill._bench.compare import compare
from tokenmill._bench.intervals import Interval
from tokenmill._bench.page import PageParts, page_of
from tokenmill._bench.svg import Axis, ChartLine, MarkedRange, line_chart, range_chart
from tokenmill._bench.targets import METRICS, TargetCheck
from tokenmill._bench.wording import change_text, rate_text, spread_text, time_text

TIMES = [1e-3, 1.02e-3, 0.99e-3, 1.01e-3, 1e-3, 1.03e-3]


class Checker(HTMLParser):
    """Counts open tags; every one must be closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Nothing stays open."""

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


def rows(kind: str) -> list[Any]:
    labels: dict[str, list[dict[str, Any]]] = {
        "latency": [{"scenario": "code", "size": n, "about": ""} for n in (1_000, 10_000)],
        "throughput": [{"text": "code", "threads": n, "pass": p, "scaling": 1.5}
                       for n in (1, 2) for p in ("cold", "warm")],
        "peers": [{"library": "x", "pass": "cold", "ratio": [2.0, 1.9, 2.1]},
                  {"library": "tokenmill", "pass": "cold"}],
        "pack": [{"stage": ""}, {"stage": "split", "share": "12.0%"}],
        "gpu": [{"way": "one request", "size": 1_000}, {"way": "one request", "size": 5_000},
                {"way": "host to host", "size": 9_000}],
        "tokenize": [{"library": "fast", "batch_size": 1, "pass": "cold"}],
        "targets": [{}, {}],
    }  # fmt: skip
    return [
        row_of(f"row <{number}>, {one.get('pass', '')}", TIMES, labels=one, is_part="share" in one)
        for number, one in enumerate(labels[kind])
    ]


def parts() -> PageParts:
    old = report_of("latency", [row_of("a", TIMES)])
    new = report_of("latency", [row_of("a", [t * 1.2 for t in TIMES], ids="other")])
    check = TargetCheck("edge", METRICS["memory_mb"], 128, Interval(140, 120, 150, 0.95))
    return PageParts(compare(new, old), [check])


@pytest.mark.parametrize(
    "kind", ["latency", "throughput", "peers", "pack", "gpu", "tokenize", "targets"]
)
def test_a_page_of_every_kind_is_well_formed_and_offline(kind: str) -> None:
    report = report_of(kind, rows(kind))
    report.not_measured["slowlib"] = "is not <installed>"
    page = page_of(report, parts())
    checker = Checker()
    checker.feed(page)
    assert checker.problems == []
    assert checker.open == []
    assert not re.search(r"https?://|<script|@import|url\(", page)
    assert "A &amp; B &lt;fast&gt;" in page
    assert page.count("row &lt;0&gt;") >= 1
    assert "slowlib not measured: is not &lt;installed&gt;" in page
    assert "prefers-color-scheme: dark" in page
    assert 'class="words bad">worse' in page
    assert 'class="words bad">missed' in page
    assert page.count('class="wide"') == page.count('class="narrow"') >= 2


def numbers(picture: str, name: str) -> list[float]:
    return [float(value) for value in re.findall(rf' {name}="([-\d.]+)"', picture)]


@pytest.mark.parametrize("width", [340, 560, 1080])
def test_marks_and_labels_stay_inside_the_picture(width: int) -> None:
    axis = Axis("time of one call", time_text)
    sizes = [10.0**-n for n in range(7)]
    ranges = [
        MarkedRange("a long name of row", x, 0.9 * x, 1.3 * x, "1.00 ms", [2 * x, 5 * x])
        for x in sizes
    ]
    lines = [ChartLine("one", [(1e3, 1e-6), (5e6, 1e-2)]), ChartLine("two", [(1e3, 2e-6)])]
    for picture in (range_chart(ranges, axis, width), line_chart(lines, axis, axis, width)):
        for name in ("x", "x1", "x2", "cx"):
            assert all(0 <= value <= width for value in numbers(picture, name))
        (height,) = map(float, re.findall(r'viewBox="0 0 \d+ (\d+)"', picture))
        for name in ("y", "y1", "y2", "cy"):
            assert all(0 <= value <= height for value in numbers(picture, name))


def test_labels_of_an_axis_do_not_touch() -> None:
    axis = Axis("bytes", lambda value: f"{value:,.0f} bytes")
    lines = [ChartLine("one", [(float(10**n), 1.0) for n in range(9)])]
    picture = line_chart(lines, axis, Axis("y"), 340)
    found = re.findall(r'<text class="" x="([\d.]+)"[^>]*middle">([^<]*)', picture)
    for (x, text), (next_x, next_text) in pairwise(found):
        assert float(next_x) - float(x) >= (len(text) + len(next_text)) / 2 * 6


def test_one_value_or_equal_values_can_be_drawn() -> None:
    for is_log in (True, False):
        axis = Axis("x", is_log=is_log)
        assert "NaN" not in range_chart([MarkedRange("a", 2.0, 2.0, 2.0, "2")], axis, 500)
        assert "NaN" not in line_chart([ChartLine("a", [(1.0, 5.0)])], axis, axis, 500)


def test_figures_are_written_with_three_digits() -> None:
    assert list(map(time_text, (3.7e-7, 1.168e-6, 0.0999999, 12.34, 0))) == [
        "370 ns", "1.17 \u00b5s", "100 ms", "12.3 s", "0 s",
    ]  # fmt: skip
    assert list(map(rate_text, (7.123, 812.3, 68_100, 3.2e6))) == [
        "7.12",
        "812",
        "68.1 k",
        "3.20 M",
    ]
    assert spread_text(Interval(10, 9.5, 10.2, 0.95)) == "5.0%"
    assert change_text(Interval(1.051, 1.044, 1.059, 0.95)) == "+5.1 % (+4.4 to +5.9)"

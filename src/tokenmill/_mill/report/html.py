"""Pieces of HTML. Every text that comes from outside passes `text`, which escapes it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from tokenmill._numbers import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Markup(str):
    """Text that is HTML already; everything else gets escaped."""

    __slots__ = ()


def text(value: object) -> str:
    """Return a value as HTML: Markup as it is, anything else escaped."""
    return value if isinstance(value, Markup) else html.escape(str(value), quote=True)


def tag(name: str, *parts: object, kind: str = "", style: str = "", title: str = "") -> Markup:
    """Return an element; `kind` is its class."""
    given = {"class": kind, "style": style, "title": title}
    attributes = "".join(f' {key}="{text(value)}"' for key, value in given.items() if value)
    return Markup(f"<{name}{attributes}>{''.join(text(part) for part in parts)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Return parts one after another."""
    return Markup(between.join(text(part) for part in parts))


def section(title: str, *parts: object) -> Markup:
    """Return a heading and a panel."""
    return join([tag("h2", title), tag("section", *parts)])


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, kind: str = "") -> Markup:
    """Return a table; its first column holds names, the others numbers."""
    kinds = ["name" if column == 0 else "n" for column in range(len(heads))]
    head = join(tag("th", head, kind=each) for head, each in zip(heads, kinds, strict=True))
    body = join(
        tag("tr", *(tag("td", cell, kind=each) for cell, each in zip(row, kinds, strict=True)))
        for row in rows
    )
    whole = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), kind=kind)
    return tag("div", whole, kind="scroll")


def count(value: float | None) -> str:
    """Write a number in full."""
    return "-" if value is None else f"{value:,.0f}"


def bytes_size(value: float | None) -> str:
    """Write a number of bytes, if there is one."""
    return "-" if value is None else size(value)


def ratio(value: float | None) -> str:
    """Write tokens per byte."""
    return "-" if value is None else f"{value:.3f}"

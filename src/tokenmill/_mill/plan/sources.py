"""Sources: what to read, and how much of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tokenmill._checks import whole_number
from tokenmill._errors import OptionError

_KEYS = ("path", "paths", "weight", "max_tokens", "field", "name")


@dataclass(frozen=True)
class Source:
    """Files, globs, folders, URLs or a dataset that belong together.

    `weight` is its share of all tokens, relative to the other sources. At most `max_tokens` of its
    tokens are taken. `field` is its text field, if it differs from that of the run.
    """

    paths: tuple[Any, ...]
    weight: str | None = None  # as written, so that shares are exact
    max_tokens: int | None = None
    field: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if _is_single(self.paths):
            object.__setattr__(self, "paths", (self.paths,))
        if self.weight is not None:
            object.__setattr__(self, "weight", check_weight(self.weight))

    def as_json(self) -> dict[str, Any]:
        """Return the source as plain values, for a record."""
        return {
            "name": self.name,
            "paths": [str(path) if isinstance(path, (str, Path)) else "" for path in self.paths],
            "weight": self.weight,
            "max_tokens": self.max_tokens,
        }


def as_sources(given: Any) -> tuple[Source, ...]:  # the forms that people write
    """Turn a path, a list of paths, sources, mappings or datasets into sources.

    All bare paths together are one source; a Source or mapping in the list is another.
    """
    items = [given] if _is_single(given) else list(given)
    plain: list[Any] = []
    sources: list[Source] = []
    for item in items:
        if isinstance(item, (Source, Mapping)):
            sources.append(item if isinstance(item, Source) else _from_mapping(item))
        else:
            plain.append(item)
    if plain:
        sources.insert(0, Source(tuple(plain)))
    if not sources:
        raise OptionError("expected files, folders, globs or datasets, got nothing", where="inputs")
    if any(s.weight for s in sources) and not all(s.weight for s in sources):
        raise OptionError(
            "some have a weight and others do not",
            where="sources",
            hint="give each source a weight, or none",
        )
    return tuple(
        Source(s.paths, s.weight, s.max_tokens, s.field, s.name or _name(s, i))
        for i, s in enumerate(sources)
    )


def parse_source(text: str) -> Source:
    """Read `path` or `path:weight`.

    "a.jsonl:0.7" -> Source(("a.jsonl",), weight="0.7")
    """
    path, colon, weight = text.rpartition(":")
    if colon and path and not weight.startswith("//") and _is_number(weight):
        return Source((path,), weight=check_weight(weight))
    return Source((text,))


def check_weight(weight: object) -> str:
    """Return a weight as it is written; refuse anything but a positive number."""
    text = str(weight)
    if not _is_number(text) or Decimal(text) <= 0:
        raise OptionError(f"expected a number above 0, got {weight!r}", where="weight")
    return text


def _from_mapping(item: Mapping[str, Any]) -> Source:
    if item and all(hasattr(value, "column_names") for value in item.values()):
        names = ", ".join(map(repr, item))
        raise OptionError(
            f"expected one dataset, got the splits {names}",
            where="source",
            hint="choose one, e.g. dataset['train']",
        )
    unknown = sorted(set(item) - set(_KEYS))
    if unknown:
        raise OptionError(
            f"unknown key {unknown[0]!r}", where="source", hint="one of " + ", ".join(_KEYS)
        )
    paths = item.get("paths", item.get("path"))
    if paths is None:
        raise OptionError("expected `path` or `paths`", where="source", hint=f"got {dict(item)!r}")
    weight, cap = item.get("weight"), item.get("max_tokens")
    if cap is not None:
        cap = whole_number("max_tokens", cap, least=0)
    return Source(
        (paths,) if _is_single(paths) else tuple(paths),
        None if weight is None else check_weight(weight),
        cap,
        item.get("field"),
        str(item.get("name", "")),
    )


def _is_single(value: Any) -> bool:
    if isinstance(value, (str, Path, Source, Mapping)):
        return True
    return hasattr(value, "column_names") or not isinstance(value, Iterable)


def _name(source: Source, index: int) -> str:
    first = source.paths[0]
    return str(first) if isinstance(first, (str, Path)) else f"dataset {index}"


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False

"""Config: the keys of a configuration, from YAML, a mapping or keywords, checked by the schema."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenmill._causal.schema import BY_NAME, SECTION, Key
from tokenmill._errors import LoadError, OptionError, SourceNotFound


@dataclass(frozen=True)
class Config:
    """The keys of the schema with their values; None means that tokenmill chooses."""

    context_length: int | None = None
    overlap: int = 0
    tokenizer_name: str | os.PathLike[str] | None = None
    verbose_level: str = "INFO"
    batch_size: int | None = None
    num_proc: int | None = None
    show_progress: bool = True


def read_config(
    config: str | os.PathLike[str] | Mapping[str, Any] | None, keywords: Mapping[str, Any]
) -> Config:
    """Check a configuration and fill in the defaults; keywords override the rest.

    read_config({"tokenizer": {"context_length": 8}}, {"overlap": 2}).overlap -> 2
    """
    values, where = _values(config)
    _check_names(values, where)
    _check_names(keywords, "")
    places = dict.fromkeys(values, where) | dict.fromkeys(keywords, "")
    given = {**values, **keywords}
    for name, value in given.items():
        _check_value(BY_NAME[name], value, places[name])
    checked = Config(**given)
    if checked.context_length is not None:
        check_overlap(checked.overlap, checked.context_length, places.get("overlap", ""))
    return checked


def check_overlap(overlap: int, context_length: int, where: str = "") -> None:
    """Refuse an overlap that leaves no new token in a row."""
    if overlap >= context_length:
        problem = f"overlap: expected less than context_length, {context_length}"
        raise OptionError(f"{problem}, got {overlap}", where=where)


def _values(config: object) -> tuple[dict[str, Any], str]:
    """Return the keys and values of a configuration, and the name of the file they came from."""
    if config is None:
        return {}, ""
    if isinstance(config, (str, os.PathLike)):
        path = Path(config)
        return _section(_parse(path), str(path)), str(path)
    return _section(config, "config"), ""


def _section(config: object, where: str) -> dict[str, Any]:
    """Return the section "tokenizer", or all keys if there is no such section.

    Other sections belong to other programs and are left alone. An empty section has no keys, so
    that every key gets its default.
    """
    keys = _mapping(config, where)
    if SECTION not in keys:
        return keys
    section = keys[SECTION]
    return {} if section is None else _mapping(section, f"{where}: {SECTION}")


def _mapping(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise OptionError(
            f"expected keys and values, got {_shown(value)}",
            where=where,
            hint="pass the path of a YAML file, a dict or keyword arguments",
        )
    return dict(value)


def _parse(path: Path) -> object:
    import yaml  # only files need it

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise SourceNotFound(
            "expected a YAML file, got no such file",
            source=str(path),
            hint="pass the name of a tokenizer as tokenizer_name=",
        ) from error
    except (yaml.YAMLError, OSError, ValueError) as error:  # not YAML, not UTF-8, not readable
        raise LoadError(" ".join(str(error).split()), path=path) from error


def _check_names(values: Mapping[str, Any], where: str) -> None:
    for name in values:
        if name not in BY_NAME:
            close = difflib.get_close_matches(str(name), BY_NAME, n=1)
            known = ", ".join(BY_NAME)
            hint = f"did you mean {close[0]!r}? " if close else ""
            hint += f"the keys are {known}"
            raise OptionError(f"unknown key {name!r}", where=where, hint=hint)


def _check_value(key: Key, value: object, where: str) -> None:
    if not key.accepts(value):
        raise OptionError(
            f"{key.name}: expected {key.allowed_words}, got {_shown(value)}", where=where
        )


def _shown(value: object) -> str:
    """Return a value as a message shows it, with its type."""
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004 -- one line
    return f"{text} ({type(value).__name__})"

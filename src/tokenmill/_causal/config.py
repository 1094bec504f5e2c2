"""Config: the keys of a configuration, from YAML, a mapping or keywords, checked by the schema."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenmill._causal.schema import BY_NAME, KEYS, SECTION, Key
from tokenmill._errors import LoadError, OptionError, SourceNotFound


@dataclass(frozen=True)
class Config:
    """What a CausalLMTokenizer was told; the keys are those of the schema."""

    context_length: int
    overlap: int = 0
    tokenizer_name: str | os.PathLike[str] | None = None
    verbose_level: str = "INFO"
    batch_size: int | None = None
    num_proc: int | None = None
    show_progress: bool = True

    @property
    def stride(self) -> int:
        """How far a row begins behind the one before it."""
        return self.context_length - self.overlap


def read_config(
    config: str | os.PathLike[str] | Mapping[str, Any] | None, keywords: Mapping[str, Any]
) -> Config:
    """Check a configuration and fill in what was left out; keywords override the rest.

    read_config({"tokenizer": {"context_length": 8}}, {"overlap": 2}).stride -> 6
    """
    values, where = _values(config)
    _check_names(values, where)
    _check_names(keywords, "")
    places = dict.fromkeys(values, where) | dict.fromkeys(keywords, "")
    given = {**values, **keywords}
    for name, value in given.items():
        _check_value(BY_NAME[name], value, places[name])
    for key in KEYS:
        if key.is_required and key.name not in given:
            raise OptionError(
                f"{key.name} is missing, expected {key.allowed_words}",
                where=where,
                hint=f"for example {key.name}: 4096",
            )
    checked = Config(**given)
    _check_overlap(checked, places.get("overlap", ""))
    return checked


def _values(config: object) -> tuple[dict[str, Any], str]:
    """Return the keys and values of a configuration, and the name of the file they came from."""
    if config is None:
        return {}, ""
    if isinstance(config, (str, os.PathLike)):
        path = Path(config)
        return _section(_parse(path), str(path)), str(path)
    return _section(config, "config"), ""


def _section(config: object, where: str) -> dict[str, Any]:
    """Return what lies below the outer key, or the whole where there is none."""
    keys = _mapping(config, where)
    if SECTION not in keys:
        return keys
    others = [str(key) for key in keys if key != SECTION]
    if others:
        problem = f"expected nothing beside {SECTION!r}, got {', '.join(others)}"
        raise OptionError(problem, where=where, hint=f"put every key below {SECTION!r}")
    return _mapping(keys[SECTION], f"{where}: {SECTION}")


def _mapping(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise OptionError(
            f"expected keys and values, got {_shown(value)}",
            where=where,
            hint="the path of a YAML file, a dict or keyword arguments",
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
            hint="the name of a tokenizer goes to tokenizer_name=",
        ) from error
    except (yaml.YAMLError, OSError, ValueError) as error:  # not YAML, not UTF-8, not to be read
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


def _check_overlap(config: Config, where: str) -> None:
    if config.overlap >= config.context_length:
        problem = f"overlap: expected less than context_length, {config.context_length}"
        raise OptionError(f"{problem}, got {config.overlap}", where=where)


def _shown(value: object) -> str:
    """Return a value as a message shows it, with its type where that is the fault."""
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004 -- one line
    return f"{text} ({type(value).__name__})"

"""TOML files -> plain values."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._errors import LoadError, OptionError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


def toml_lines(values: Mapping[str, int | str]) -> list[str]:
    """Write keys with numbers and words, a line each."""
    return [
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
        for key, value in values.items()
    ]


def read_toml(name: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the keys and values of a TOML file."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LoadError(str(error), path=path) from error
    return found

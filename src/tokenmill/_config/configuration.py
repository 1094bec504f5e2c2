"""The values of a configuration file, checked; and the file that this process uses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._checks import one_of, whole_number
from tokenmill._config.toml import read_toml
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE = "TOKENMILL_CONFIG"
TABLES = ("usual", "small", "tiny")
SMALLEST_BLOCK, LARGEST_BLOCK = 64 << 10, 64 << 20
_MOST = 4096  # threads, processes


@dataclass(frozen=True)
class Configuration:
    """What a file sets; None for what it leaves to the defaults.

    `threads`: at most so many for calls, `pack` and `serve` that are given no number. `tables`: of
    tokenizers that are loaded without a size. `block_bytes`: of text that a worker of `pack` takes
    at a time. `device`: of `pack`. `serve_workers`: processes of `tokenmill serve`.
    """

    threads: int | None = None
    tables: Literal["usual", "small", "tiny"] | None = None
    block_bytes: int | None = None
    device: str | None = None
    serve_workers: int | None = None


def _device(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        problem = f"expected a device such as 'cpu', 'cuda' or 'auto', got {value!r}"
        raise OptionError(problem, where=name)
    return value


# Key in the file -> field, and the check of its value.
KEYS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "threads": ("threads", partial(whole_number, most=_MOST)),
    "tables": ("tables", partial(one_of, choices=TABLES)),
    "block_bytes": (
        "block_bytes", partial(whole_number, least=SMALLEST_BLOCK, most=LARGEST_BLOCK)
    ),
    "device": ("device", _device),
    "serve.workers": ("serve_workers", partial(whole_number, most=_MOST)),
}  # fmt: skip


def read_configuration(path: str | os.PathLike[str]) -> Configuration:
    """Read a configuration file; OptionError for a key that is unknown or a value that is wrong."""
    found: dict[str, Any] = {}
    for key, value in _flat(read_toml(path)).items():
        if key not in KEYS:
            raise OptionError(f"unknown key {key!r}", where=os.fspath(path), hint=_hint(key))
        field, check = KEYS[key]
        try:
            found[field] = check(key, value)
        except OptionError as error:
            raise OptionError(
                error.problem, where=f"{os.fspath(path)}: {key}", hint=error.hint
            ) from error
    return Configuration(**found)


def configured() -> Configuration:
    """Return what TOKENMILL_CONFIG names, read once; without it, nothing is set."""
    path = os.environ.get(VARIABLE)
    return _read_once(path) if path else _NOTHING


_NOTHING = Configuration()
_read_once = lru_cache(maxsize=4)(read_configuration)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the names of sections and keys by dots."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        inner = _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {}
        found.update(inner or {f"{prefix}{name}": value})
    return found


def _hint(key: str) -> str:
    close = get_close_matches(key, KEYS, 1)
    return f"did you mean {close[0]}?" if close else "one of " + ", ".join(KEYS)

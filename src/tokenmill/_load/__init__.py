"""load: files, hub repositories and objects of other libraries -> TokenizerSpec.

Exactly what the reference library would run is described, or the spec says in `unsupported` what
cannot be; a source that cannot be read at all raises `LoadError` or `SourceNotFound`.
Nothing is imported but numpy, unless a hub repository is asked for.
The names below are loaded when they are first used: a tokenizer that is found in the cache needs
none of the readers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._load.files import files_of
    from tokenmill._load.known import KNOWN
    from tokenmill._load.source import load_source

__all__ = ["KNOWN", "files_of", "load_source"]

_HOMES = {"KNOWN": "known", "files_of": "files", "load_source": "source"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

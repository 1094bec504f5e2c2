"""The library `tiktoken` itself, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tokenmill._errors import MissingDependency


def peer_library() -> Any:  # a module
    """Import `tiktoken`; MissingDependency names the package to install."""
    try:
        return import_module("tiktoken")
    except ImportError as error:
        raise MissingDependency(
            "encodings and models are looked up by name in this package, which is not installed",
            name="tiktoken",
            hint="pip install tiktoken, or make an Encoding of its parts",
        ) from error

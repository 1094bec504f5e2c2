"""The libraries whose surface the drop-ins have, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tokenmill._errors import MissingDependency


def library(name: str) -> Any:  # a module
    """Import a library; MissingDependency names the package to install."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(
            "tokenmill.compat.hf needs this package, which is not installed",
            name=name,
            hint="pip install 'tokenmill[hf]'",
        ) from error

"""The surface of `tiktoken`: `import tokenmill.compat.tiktoken as tiktoken`.

Encodings have the names that `tiktoken` knows; its registry and its files define them. If you make
an `Encoding` of its parts, tokenmill alone is enough.
"""

from __future__ import annotations

from tokenmill.compat.tiktoken._encoding import Encoding, encoding_of
from tokenmill.compat.tiktoken._peer import peer_library

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding by its name."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"encoding_name: expected a string, got {type(encoding_name).__name__}")
    return encoding_of(encoding_name)


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of a model; KeyError if `tiktoken` does not know the model."""
    return get_encoding(encoding_name_for_model(model_name))


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of the encoding of a model."""
    name: str = peer_library().encoding_name_for_model(model_name)
    return name


def list_encoding_names() -> list[str]:
    """Return the names that `get_encoding` knows."""
    names: list[str] = peer_library().list_encoding_names()
    return names

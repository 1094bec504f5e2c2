"""The surface of `tokenizers` and of the fast tokenizers of `transformers`.

`Tokenizer`, `Encoding` and `decoders` replace those of `tokenizers`. `AutoTokenizer`,
`FastTokenizer` and `accelerate` return fast tokenizers of `transformers` that run on tokenmill;
only these import `transformers`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokenmill.compat.hf._encoding import Encoding
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill.compat.hf import decoders
    from tokenmill.compat.hf._fast import AutoTokenizer, FastTokenizer, accelerate

__all__ = ["AutoTokenizer", "Encoding", "FastTokenizer", "Tokenizer", "accelerate", "decoders"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "decoders":
        return import_module("tokenmill.compat.hf.decoders")
    library("transformers")  # or raise MissingDependency
    value = getattr(import_module("tokenmill.compat.hf._fast"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

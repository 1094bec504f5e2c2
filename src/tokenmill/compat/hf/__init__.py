"""The surface of `tokenizers` and of the fast tokenizers of `transformers`.

`Tokenizer`, `Encoding` and `decoders` replace those of `tokenizers`. `AutoTokenizer`,
`FastTokenizer` and `accelerate` return fast tokenizers of `transformers` that run on tokenmill;
only these import `transformers`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokenmill._lazy import lazy_names
from tokenmill.compat.hf._encoding import Encoding
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill.compat.hf import decoders
    from tokenmill.compat.hf._fast import AutoTokenizer, FastTokenizer, accelerate

__all__ = ["AutoTokenizer", "Encoding", "FastTokenizer", "Tokenizer", "accelerate", "decoders"]
_transformers_names = lazy_names(
    __name__,
    dict.fromkeys(("AutoTokenizer", "FastTokenizer", "accelerate"), "tokenmill.compat.hf._fast"),
    before=lambda: library("transformers"),  # explains what to install
)


def __getattr__(name: str) -> object:
    if name == "decoders":
        return import_module("tokenmill.compat.hf.decoders")
    return _transformers_names(name)


def __dir__() -> list[str]:
    return sorted(__all__)

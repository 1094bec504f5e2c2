"""The surface of `tokenizers` and of the fast tokenizers of `transformers`.

`Tokenizer` and `Encoding` stand in for those of `tokenizers`; `AutoTokenizer`, `FastTokenizer` and
`accelerate` give fast tokenizers of `transformers` that run on tokenmill. `transformers` is
imported only for those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill.compat.hf._encoding import Encoding
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill.compat.hf._fast import AutoTokenizer, FastTokenizer, accelerate

__all__ = ["AutoTokenizer", "Encoding", "FastTokenizer", "Tokenizer", "accelerate"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    library("transformers")  # or say what to install
    from tokenmill.compat.hf import _fast  # noqa: PLC0415 -- imports transformers

    value = getattr(_fast, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""The surface of `tokenizers` and of the fast tokenizers of `transformers`.

`Tokenizer` and `Encoding` stand in for those of `tokenizers`; `AutoTokenizer`, `FastTokenizer` and
`accelerate` give fast tokenizers of `transformers` that run on tokenmill. `transformers` is
imported only for those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._lazy import lazy_names
from tokenmill.compat.hf._encoding import Encoding
from tokenmill.compat.hf._library import library
from tokenmill.compat.hf._tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill.compat.hf._fast import AutoTokenizer, FastTokenizer, accelerate

__all__ = ["AutoTokenizer", "Encoding", "FastTokenizer", "Tokenizer", "accelerate"]
__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(("AutoTokenizer", "FastTokenizer", "accelerate"), "tokenmill.compat.hf._fast"),
    before=lambda: library("transformers"),  # explains what to install
)


def __dir__() -> list[str]:
    return sorted(__all__)

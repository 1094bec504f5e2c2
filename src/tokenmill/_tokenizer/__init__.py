"""tokenizer: the face of the engine. A model that is ready -> `Tokenizer` and its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._lazy import lazy_names
from tokenmill._tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenmill._model.resolve import compile_file

__all__ = ["Tokenizer", "compile_file"]
__getattr__ = lazy_names(__name__, {"compile_file": "tokenmill._model.resolve"})

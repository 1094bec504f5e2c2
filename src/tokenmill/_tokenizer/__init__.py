"""tokenizer: the face of the engine. A model that is ready -> `Tokenizer` and its methods."""

from __future__ import annotations

from tokenmill._model.resolve import compile_file
from tokenmill._tokenizer.tokenizer import Tokenizer

__all__ = ["Tokenizer", "compile_file"]

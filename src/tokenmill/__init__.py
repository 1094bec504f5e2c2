"""tokenmill: raw text in, training-ready tokens out, exactly and at the speed of the memory.

The names below are loaded when they are first used, so that `import tokenmill` and the command
line start at once; numpy is the only package that using them imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._batch import EncodedBatch, EncodedRow, TokenBatch
    from tokenmill._dataset import PackedDataset, PackedIterable
    from tokenmill._describe import Description
    from tokenmill._errors import (
        CorruptModel,
        CorruptShard,
        DtypeError,
        EncodeError,
        InputError,
        InvalidUtf8,
        LoadError,
        MissingDependency,
        OptionError,
        OutputTooSmall,
        PatternError,
        ReferencePathWarning,
        ShardTooLarge,
        SourceNotFound,
        SpecialTokenInText,
        TextTypeError,
        TokenmillError,
        UnknownId,
        UnsupportedTokenizer,
    )
    from tokenmill._pack import Packer
    from tokenmill._patch import patch_transformers
    from tokenmill._rows import Pieces
    from tokenmill._tokenizer import Tokenizer

__version__ = "0.1.0"

__all__ = [
    "CorruptModel",
    "CorruptShard",
    "Description",
    "DtypeError",
    "EncodeError",
    "EncodedBatch",
    "EncodedRow",
    "InputError",
    "InvalidUtf8",
    "LoadError",
    "MissingDependency",
    "OptionError",
    "OutputTooSmall",
    "PackedDataset",
    "PackedIterable",
    "Packer",
    "PatternError",
    "Pieces",
    "ReferencePathWarning",
    "ShardTooLarge",
    "SourceNotFound",
    "SpecialTokenInText",
    "TextTypeError",
    "TokenBatch",
    "Tokenizer",
    "TokenmillError",
    "UnknownId",
    "UnsupportedTokenizer",
    "__version__",
    "patch_transformers",
]

_HOMES = {
    "Description": "tokenmill._describe",
    "EncodedBatch": "tokenmill._batch",
    "EncodedRow": "tokenmill._batch",
    "PackedDataset": "tokenmill._dataset",
    "PackedIterable": "tokenmill._dataset",
    "Packer": "tokenmill._pack",
    "Pieces": "tokenmill._rows",
    "TokenBatch": "tokenmill._batch",
    "Tokenizer": "tokenmill._tokenizer",
    "patch_transformers": "tokenmill._patch",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "tokenmill._errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

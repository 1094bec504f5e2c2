"""tokenmill: raw text in, training-ready tokens out, exactly and at the speed of the memory.

The names below are loaded when they are first used, so that `import tokenmill` and the command
line start at once; numpy is the only package that using them imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenmill._batch import EncodedBatch, EncodedRow, TokenBatch
    from tokenmill._causal import CausalLMTokenizer
    from tokenmill._dataset import PackedDataset, PackedIterable
    from tokenmill._describe import Description
    from tokenmill._errors import (
        BadRecordFound,
        BooksDiffer,
        CorruptModel,
        CorruptShard,
        DeviceError,
        DtypeError,
        EncodeError,
        InputError,
        InvalidUtf8,
        LoadError,
        MissingDependency,
        OptionError,
        OutputError,
        OutputInUse,
        OutputTooSmall,
        PatternError,
        PlanDiffers,
        ReferencePathWarning,
        ShardTooLarge,
        SourceNotFound,
        SpecialTokenInText,
        TextTypeError,
        TokenmillError,
        TooManyBadRecords,
        UnknownId,
        UnsupportedTokenizer,
    )
    from tokenmill._pack import Packer
    from tokenmill._patch import patch_transformers
    from tokenmill._pipeline import (
        Manifest,
        Source,
        TokenStream,
        VerifyReport,
        inspect,
        pack,
        rewrite,
        stream,
        verify,
        write_shards,
    )
    from tokenmill._rows import Pieces
    from tokenmill._tokenizer import Tokenizer

__version__ = "0.1.0"

__all__ = [
    "BadRecordFound",
    "BooksDiffer",
    "CausalLMTokenizer",
    "CorruptModel",
    "CorruptShard",
    "Description",
    "DeviceError",
    "DtypeError",
    "EncodeError",
    "EncodedBatch",
    "EncodedRow",
    "InputError",
    "InvalidUtf8",
    "LoadError",
    "Manifest",
    "MissingDependency",
    "OptionError",
    "OutputError",
    "OutputInUse",
    "OutputTooSmall",
    "PackedDataset",
    "PackedIterable",
    "Packer",
    "PatternError",
    "Pieces",
    "PlanDiffers",
    "ReferencePathWarning",
    "ShardTooLarge",
    "Source",
    "SourceNotFound",
    "SpecialTokenInText",
    "TextTypeError",
    "TokenBatch",
    "TokenStream",
    "Tokenizer",
    "TokenmillError",
    "TooManyBadRecords",
    "UnknownId",
    "UnsupportedTokenizer",
    "VerifyReport",
    "__version__",
    "inspect",
    "pack",
    "patch_transformers",
    "rewrite",
    "stream",
    "verify",
    "write_shards",
]

_HOMES = {
    "CausalLMTokenizer": "tokenmill._causal",
    "Description": "tokenmill._describe",
    "EncodedBatch": "tokenmill._batch",
    "EncodedRow": "tokenmill._batch",
    "Manifest": "tokenmill._pipeline",
    "PackedDataset": "tokenmill._dataset",
    "PackedIterable": "tokenmill._dataset",
    "Packer": "tokenmill._pack",
    "Pieces": "tokenmill._rows",
    "Source": "tokenmill._pipeline",
    "TokenBatch": "tokenmill._batch",
    "TokenStream": "tokenmill._pipeline",
    "Tokenizer": "tokenmill._tokenizer",
    "VerifyReport": "tokenmill._pipeline",
    "inspect": "tokenmill._pipeline",
    "pack": "tokenmill._pipeline",
    "patch_transformers": "tokenmill._patch",
    "rewrite": "tokenmill._pipeline",
    "stream": "tokenmill._pipeline",
    "verify": "tokenmill._pipeline",
    "write_shards": "tokenmill._pipeline",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "tokenmill._errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

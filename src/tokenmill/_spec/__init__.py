"""What a tokenizer is, as plain data.

A `TokenizerSpec` lists the steps that a text goes through:

1. the added tokens with ``normalized=False`` are cut out of the raw text;
2. each remaining range is normalized by `normalizer`, step after step;
3. the added tokens with ``normalized=True`` (their content normalized the same way) are cut out;
4. with `add_prefix_space`, each remaining range that does not begin with " " gets one;
5. `split` cuts each range into words, each step working on the words of the one before;
6. `model` turns each word into ids;
7. `prefix_ids` and `suffix_ids` are put around the whole.

The loaders fill a spec in, the compiler reads it.
"""

from __future__ import annotations

from tokenmill._spec.models import (
    NO_RANK,
    BpeModel,
    LongestMatchModel,
    Model,
    OpaqueModel,
    UnigramModel,
    WordLevelModel,
    WordPieceModel,
)
from tokenmill._spec.steps import (
    AddedToken,
    Behavior,
    DecoderKind,
    DecoderStep,
    Dialect,
    Metaspace,
    NormalizerKind,
    NormalizerStep,
    PrependScheme,
    SentencePieceDecoder,
    SentencePieceNormalizer,
    SplitStep,
    TemplatePart,
)
from tokenmill._spec.tokenizer import Reference, TokenizerSpec

__all__ = [
    "NO_RANK",
    "AddedToken",
    "Behavior",
    "BpeModel",
    "DecoderKind",
    "DecoderStep",
    "Dialect",
    "LongestMatchModel",
    "Metaspace",
    "Model",
    "NormalizerKind",
    "NormalizerStep",
    "OpaqueModel",
    "PrependScheme",
    "Reference",
    "SentencePieceDecoder",
    "SentencePieceNormalizer",
    "SplitStep",
    "TemplatePart",
    "TokenizerSpec",
    "UnigramModel",
    "WordLevelModel",
    "WordPieceModel",
]

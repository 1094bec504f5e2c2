"""The WordLevel "model" section of a tokenizer.json -> WordLevelModel."""

from __future__ import annotations

from typing import Any

from tokenmill._load.fields import member
from tokenmill._load.vocabulary import ReadModel, id_reasons, opaque, utf8_table
from tokenmill._spec import WordLevelModel


def read_wordlevel(section: dict[str, Any], vocab: dict[str, int]) -> ReadModel:
    """Read a WordLevel model; without an unknown token, an unknown word is an error."""
    unknown = member(section, "unk_token", str, "model")
    reasons = id_reasons(vocab)
    if unknown not in vocab:
        reasons.append(f"model.unk_token {unknown!r} is not in the vocabulary")
    if reasons:
        return opaque(vocab, reasons)
    return ReadModel(WordLevelModel(utf8_table(vocab), vocab[unknown]))

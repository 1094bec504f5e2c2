"""The WordPiece "model" section of a tokenizer.json -> WordPieceModel."""

from __future__ import annotations

from typing import Any

from tokenmill._errors import LoadError
from tokenmill._load.fields import member
from tokenmill._load.vocabulary import ReadModel, id_reasons, opaque, utf8_of_tokens, utf8_table
from tokenmill._spec import WordPieceModel


def read_wordpiece(section: dict[str, Any], vocab: dict[str, int]) -> ReadModel:
    """Read a WordPiece model; all members are required, as in the library."""
    unknown = member(section, "unk_token", str, "model")
    prefix = member(section, "continuing_subword_prefix", str, "model")
    most = member(section, "max_input_chars_per_word", int, "model")
    if most < 0:
        place = "model.max_input_chars_per_word"
        raise LoadError(f"{place}: expected a whole number from 0 on, got {most}")
    reasons = id_reasons(vocab)
    if unknown not in vocab:
        reasons.append(f"model.unk_token {unknown!r} is not in the vocabulary")
    if reasons:
        return opaque(vocab, reasons)
    return ReadModel(
        WordPieceModel(utf8_table(vocab), vocab[unknown], utf8_of_tokens([prefix])[0], most)
    )

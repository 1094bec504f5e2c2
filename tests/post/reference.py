"""The same rows by `tokenizers`, the library that is the judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Encoding, Tokenizer

Row = tuple[list[int], list[int], list[int], list[int], int]


@dataclass(frozen=True)
class Case:
    """A call: texts and options, with the names that `encode_batch` has for them."""

    texts: Sequence[str]
    pairs: Sequence[str] | None = None
    add_special_tokens: bool = True
    options: dict[str, Any] = field(default_factory=dict)


class Refused(Exception):  # noqa: N818
    """The library raised, or panicked."""


def rows_of_library(tokenizer: Tokenizer, case: Case) -> list[Row]:
    """Ids, types, special mask, attention mask and sample of every row."""
    options = case.options
    inputs = case.texts if case.pairs is None else list(zip(case.texts, case.pairs, strict=True))
    try:
        _set_truncation(tokenizer, options)
        _set_padding(tokenizer, options)
        encodings = tokenizer.encode_batch(inputs, add_special_tokens=case.add_special_tokens)
    except BaseException as error:
        if type(error).__name__ not in ("Exception", "ValueError", "PanicException"):
            raise
        raise Refused(str(error)) from error
    overflowing = options.get("return_overflowing", False)
    return [
        _row(part, sample)
        for sample, encoding in enumerate(encodings)
        for part in [encoding, *(encoding.overflowing if overflowing else [])]
    ]


def _row(encoding: Encoding, sample: int) -> Row:
    return (
        encoding.ids,
        encoding.type_ids,
        encoding.special_tokens_mask,
        encoding.attention_mask,
        sample,
    )


def _set_truncation(tokenizer: Tokenizer, options: dict[str, Any]) -> None:
    if options.get("truncation") is None:
        tokenizer.no_truncation()
        return
    tokenizer.enable_truncation(
        options["max_length"],
        stride=options.get("stride", 0),
        strategy=options["truncation"],
        direction=options.get("truncation_side", "right"),
    )


def _set_padding(tokenizer: Tokenizer, options: dict[str, Any]) -> None:
    if options.get("padding") is None:
        tokenizer.no_padding()
        return
    tokenizer.enable_padding(
        length=options["max_length"] if options["padding"] == "max_length" else None,
        direction=options.get("padding_side", "right"),
        pad_id=options.get("pad_id", 0),
        pad_type_id=options.get("pad_type_id", 0),
        pad_to_multiple_of=options.get("pad_to_multiple_of"),
    )

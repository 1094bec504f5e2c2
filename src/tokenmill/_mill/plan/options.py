"""The options of `pack` that decide its bytes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, TypedDict

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Policy = Literal["quarantine", "skip", "replace", "fail"]


class TextOptions(TypedDict, total=False):
    """How documents are read, tokenized and put into rows, whether or not rows are stored."""

    pack: Literal["concat", "bestfit", "bos-bestfit-crop", "pad", "none"] | None
    field: str | None  # the text field, with dots for nested ones; None finds it
    text_mode: str  # plain text: "file", "line", or the separator between documents
    delimiter: str | None  # of CSV
    # Of stdin and of files without a known suffix; None looks at their first bytes.
    input_format: Literal["jsonl", "text", "csv", "tsv", "parquet", "arrow"] | None
    overlap: int  # tokens that neighbouring rows of concat share
    long_documents: Literal["split", "truncate", "drop"]  # for bestfit and pad
    tail: Literal["carry", "pad", "drop"] | None  # the last, short row
    eos: bool | int | str | None  # None: the tokenizer's own; False: none
    bos: bool | int | str | None  # False by default; True: the tokenizer's own
    pad: bool | int | str | None
    special_in_text: Literal["text", "encode", "raise"]
    on_bad: Mapping[str, Policy] | None  # reason -> policy
    max_document_bytes: int | None


class PackOptions(TextOptions, total=False):
    """The options of `pack` for reading, packing and writing."""

    context_length: int | None  # tokens per row; None if documents stay as they are
    format: str | Sequence[str]  # one or more of the formats, "bin" by default
    shard_tokens: int
    shuffle: Literal["none", "docs"] | None
    seed: int
    validation: float | str  # share of documents, chosen by the hash of their text
    max_tokens: int | None
    max_sequences: int | None
    limit_documents: int | None


def refuse_unknown_options(names: Iterable[str]) -> None:
    """Raise OptionError for an unknown name: otherwise a typo would leave the default in place."""
    known = sorted(PackOptions.__annotations__)
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1, cutoff=0.75)
            hint = f"did you mean {close[0]}?" if close else "one of " + ", ".join(known)
            raise OptionError(f"unknown option {name!r}", hint=hint)

"""Options: the keywords of a call of `tokenize`, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tokenmill._checks import one_of, true_or_false, whole_number, whole_number_or_none
from tokenmill._errors import OptionError
from tokenmill._pack.derive import IGNORE_INDEX

Tail: TypeAlias = Literal["pad", "carry", "drop"]
SpecialInText: TypeAlias = Literal["text", "encode", "raise"]
COLUMNS = ("input_ids", "attention_mask", "labels")
TAILS: tuple[Tail, ...] = ("pad", "carry", "drop")
SPECIAL_IN_TEXT: tuple[SpecialInText, ...] = ("text", "encode", "raise")
_LEAST, _MOST = -(2**31), 2**31 - 1  # of int32, the type of labels


@dataclass(frozen=True)
class Options:
    """The options that decide the rows, in addition to the configuration and the tokenizer.

    `eos`, `bos` and `pad` are those of the mill: None is the default of each, True the
    tokenizer's own, False none, else a name or an id.
    """

    text_column: str | None = None
    keep_columns: tuple[str, ...] = ()
    pack: bool = True
    tail: Tail = "pad"
    eos: bool | int | str | None = None
    bos: bool | int | str | None = None
    pad: bool | int | str | None = None
    special_in_text: SpecialInText = "text"
    mask_overlap: bool = False
    ignore_index: int = IGNORE_INDEX
    max_rows: int | None = None


@dataclass(frozen=True)
class Destination:
    """Where a result goes: shards in `output`, or a file in `cache_dir`, made again by `force`."""

    output: str | os.PathLike[str] | None = None
    format: str | Sequence[str] = "parquet"
    cache_dir: str | os.PathLike[str] | None = None
    force: bool = False

    def __post_init__(self) -> None:
        for name, value in (("output", self.output), ("cache_dir", self.cache_dir)):
            if value is not None and not (isinstance(value, os.PathLike) or _is_name(value)):
                problem = f"expected the path of a folder, or None, got {value!r}"
                raise OptionError(problem, where=name)
        true_or_false("force", self.force)


def check_options(
    max_chunks: int | None = None,
    *,
    keep_columns: Iterable[str] = (),
    tail: Tail | None = None,
    ignore_index: int = IGNORE_INDEX,
    max_rows: int | None = None,
    **others: Any,  # the other fields of Options
) -> Options:
    """Check the options of a call; `max_chunks` is another name of `max_rows`."""
    if max_rows is not None and max_chunks is not None and max_rows != max_chunks:
        problem = f"expected one of max_rows and max_chunks, got {max_rows!r} and {max_chunks!r}"
        raise OptionError(problem, hint="they mean the same")
    limit = max_chunks if max_rows is None else max_rows
    options = Options(
        keep_columns=_names(keep_columns),
        tail="pad" if tail is None else one_of("tail", tail, TAILS),
        ignore_index=whole_number("ignore_index", ignore_index, least=_LEAST, most=_MOST),
        max_rows=whole_number_or_none("max_rows", limit),
        **others,
    )
    if options.text_column is not None and not _is_name(options.text_column):
        problem = f"expected the name of a column, or None, got {options.text_column!r}"
        raise OptionError(problem, where="text_column")
    true_or_false("pack", options.pack)
    true_or_false("mask_overlap", options.mask_overlap)
    one_of("special_in_text", options.special_in_text, SPECIAL_IN_TEXT)
    if options.pack and options.keep_columns:
        raise OptionError(
            f"a row of the stream holds several documents, got {list(options.keep_columns)}",
            where="keep_columns",
            hint="pack=False keeps every document in rows of its own",
        )
    return options


def _names(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise OptionError(f"expected a list of columns, got {names!r}", where="keep_columns")
    chosen = tuple(names)
    for name in chosen:
        if not _is_name(name):
            problem = f"expected names of columns, got {name!r}"
            raise OptionError(problem, where="keep_columns")
        if name in COLUMNS:
            problem = f"{name!r} is a column of the result"
            raise OptionError(problem, where="keep_columns", hint="rename it in the dataset")
    if len(set(chosen)) != len(chosen):
        raise OptionError(f"expected each column once, got {names!r}", where="keep_columns")
    return chosen


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())

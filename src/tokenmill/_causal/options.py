"""Options: what a call of `tokenize` may be told, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tokenmill._causal.schema import Choices, Name, Range, Switch
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

Tail: TypeAlias = Literal["pad", "carry", "drop"]
SpecialInText: TypeAlias = Literal["text", "encode", "raise"]
IGNORE_INDEX = -100  # what loss functions skip by default
COLUMNS = ("input_ids", "attention_mask", "labels")
TAILS = Choices(("pad", "carry", "drop"))
SPECIAL_IN_TEXT = Choices(("text", "encode", "raise"))
_INT32 = Range(-(2**31), 2**31 - 1)  # the type of labels


@dataclass(frozen=True)
class Options:
    """What decides the rows of a call, beside the configuration and the tokenizer.

    `eos`, `bos` and `pad` are as the mill takes them: None is the default of each, True the
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


def check_options(
    *,
    keep_columns: Sequence[str] = (),
    tail: Tail | None = None,
    max_rows: int | None = None,
    max_chunks: int | None = None,
    **others: Any,  # the other fields, checked below
) -> Options:
    """Check the options of a call; `max_chunks` is another name of `max_rows`."""
    if max_rows is not None and max_chunks is not None and max_rows != max_chunks:
        problem = f"expected one of max_rows and max_chunks, got {max_rows!r} and {max_chunks!r}"
        raise OptionError(problem, hint="they mean the same")
    limit = max_chunks if max_rows is None else max_rows
    options = Options(
        keep_columns=_names(keep_columns),
        tail="pad" if tail is None else tail,
        max_rows=limit,
        **others,
    )
    _check("text_column", options.text_column, Name("the name of a column"), or_none=True)
    _check("pack", options.pack, Switch())
    _check("tail", options.tail, TAILS)
    _check("special_in_text", options.special_in_text, SPECIAL_IN_TEXT)
    _check("mask_overlap", options.mask_overlap, Switch())
    _check("ignore_index", options.ignore_index, _INT32)
    _check("max_rows", options.max_rows, Range(1), or_none=True)
    if options.pack and options.keep_columns:
        raise OptionError(
            f"a row of the stream holds several documents, got {list(options.keep_columns)}",
            where="keep_columns",
            hint="pack=False keeps every document in rows of its own",
        )
    return options


def check_places(*, output: object, cache_dir: object, force: object) -> None:
    """Check where results go, and whether what is there counts."""
    folder = Name("the path of a folder", may_be_path=True)
    _check("output", output, folder, or_none=True)
    _check("cache_dir", cache_dir, folder, or_none=True)
    _check("force", force, Switch())


def _names(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise OptionError(f"expected a list of columns, got {names!r}", where="keep_columns")
    chosen = tuple(names)
    for name in chosen:
        _check("keep_columns", name, Name("names of columns"))
        if name in COLUMNS:
            problem = f"{name!r} is a column of the result"
            raise OptionError(problem, where="keep_columns", hint="rename it in the dataset")
    if len(set(chosen)) != len(chosen):
        raise OptionError(f"expected each column once, got {names!r}", where="keep_columns")
    return chosen


def _check(
    name: str, value: object, allowed: Choices | Name | Range | Switch, *, or_none: bool = False
) -> None:
    if not (value in allowed or (or_none and value is None)):
        words = f"{allowed}, or None" if or_none else str(allowed)
        raise OptionError(f"expected {words}, got {value!r}", where=name)

"""The options of a call that asks for rows -> plain data, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from tokenmill._checks import one_of, whole_number
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    SpecialInText: TypeAlias = Literal["encode", "text", "raise"]
    Errors: TypeAlias = Literal["strict", "replace"]
    Strategy: TypeAlias = Literal["longest_first", "only_first", "only_second"]
    RowDtype: TypeAlias = Literal["int64", "int32"] | type[np.int64] | type[np.int32]
    Dtype: TypeAlias = Literal["uint32", "uint16"] | type[np.uint32] | type[np.uint16]

STRATEGIES = ("longest_first", "only_first", "only_second")
PADDINGS = ("longest", "max_length")
SIDE_NAMES = ("right", "left")
_MAX_LENGTH = (1 << 40) - 1  # rows of that length fit no memory, and sums of lengths fit int64
_MAX_U32 = 0xFFFF_FFFF


class ResultOptions(TypedDict, total=False):
    """More options of `encode_batch`; any of them makes the result an EncodedBatch."""

    pairs: Iterable[Any] | None
    truncation: Strategy | None
    max_length: int | None
    truncation_side: Literal["right", "left"]
    stride: int
    return_overflowing: bool
    padding: Literal["longest", "max_length"] | None
    pad_to_multiple_of: int | None
    padding_side: Literal["right", "left"]
    pad_id: int
    pad_type_id: int
    return_type_ids: bool
    return_special_mask: bool
    return_attention_mask: bool | None


class BatchOptions(TypedDict, total=False):
    """The options of `encode_batch` that leave the result a TokenBatch."""

    threads: int | None
    dtype: Dtype
    add_special_tokens: bool
    special_in_text: SpecialInText
    errors: Errors
    offsets: Literal["char", "byte"] | None
    device: str
    timeout: float | None
    stats: bool


class RowOptions(ResultOptions, total=False):
    """All options of `encode_batch`."""

    threads: int | None
    dtype: Dtype | RowDtype
    add_special_tokens: bool
    special_in_text: SpecialInText
    errors: Errors
    offsets: Literal["char", "byte"] | None
    device: str
    timeout: float | None
    stats: bool


@dataclass(frozen=True)
class Truncation:
    """Rows of at most `max_length` tokens, the special ones counted.

    `stride`: how many tokens a window shares with the one before it.
    """

    strategy: str
    max_length: int
    is_left: bool
    stride: int


@dataclass(frozen=True)
class Padding:
    """Rows filled up to `length` (None: to the longest), rounded up to `multiple`."""

    length: int | None
    multiple: int
    is_left: bool
    pad_id: int
    pad_type_id: int


@dataclass(frozen=True)
class Wanted:
    """Everything that was asked for."""

    pairs: Any
    truncation: Truncation | None
    padding: Padding | None
    overflowing: bool
    type_ids: bool
    special_mask: bool
    attention_mask: bool


def wanted_of(options: ResultOptions) -> Wanted | None:
    """Check the options; None where none of them asks for anything."""
    unknown = options.keys() - ResultOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"encode_batch got an unexpected keyword argument {min(unknown)!r}")
    padding, attention_mask = _padding(options), options.get("return_attention_mask")
    wanted = Wanted(
        options.get("pairs"),
        _truncation(options),
        padding,
        bool(options.get("return_overflowing")),
        bool(options.get("return_type_ids")),
        bool(options.get("return_special_mask")),
        padding is not None if attention_mask is None else bool(attention_mask),
    )
    kinds = (wanted.pairs, wanted.truncation, padding)
    flags = (wanted.overflowing, wanted.type_ids, wanted.special_mask, wanted.attention_mask)
    return wanted if any(flags) or any(kind is not None for kind in kinds) else None


def _truncation(options: ResultOptions) -> Truncation | None:
    strategy = one_of("truncation", options.get("truncation"), (None, *STRATEGIES))
    side = one_of("truncation_side", options.get("truncation_side", "right"), SIDE_NAMES)
    stride = whole_number("stride", options.get("stride", 0), least=0, most=_MAX_LENGTH)
    length = options.get("max_length")
    if strategy is not None:
        if length is None:
            raise OptionError(f"truncation: {strategy!r} needs max_length, got None")
        return Truncation(
            strategy,
            whole_number("max_length", length, least=0, most=_MAX_LENGTH),
            side == "left",
            stride,
        )
    if stride:
        raise OptionError(
            f"stride: windows come from truncation, got {stride} without it",
            hint="truncation='longest_first'",
        )
    if length is not None and options.get("padding") != "max_length":
        raise OptionError(
            f"max_length: nothing uses it, got {length!r}",
            hint="truncation='longest_first' cuts rows, padding='max_length' fills them",
        )
    return None


def _padding(options: ResultOptions) -> Padding | None:
    kind = one_of("padding", options.get("padding"), (None, *PADDINGS))
    side = one_of("padding_side", options.get("padding_side", "right"), SIDE_NAMES)
    multiple = options.get("pad_to_multiple_of")
    if kind is None:
        if multiple is not None:
            raise OptionError(
                f"pad_to_multiple_of: needs padding, got {multiple!r} without it",
                hint="padding='longest'",
            )
        return None
    length = options.get("max_length")
    if kind == "max_length" and length is None:
        raise OptionError("padding: 'max_length' needs max_length, got None")
    return Padding(
        whole_number("max_length", length, least=0, most=_MAX_LENGTH)
        if kind == "max_length"
        else None,
        1
        if multiple is None
        else whole_number("pad_to_multiple_of", multiple, least=1, most=_MAX_LENGTH),
        side == "left",
        whole_number("pad_id", options.get("pad_id", 0), least=0, most=_MAX_U32),
        whole_number("pad_type_id", options.get("pad_type_id", 0), least=0, most=_MAX_U32),
    )

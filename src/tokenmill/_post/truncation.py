"""How much of each text stays, and the windows of what does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tokenmill._errors import EncodeError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tokenmill._post.request import Truncation

    Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """The windows of the texts of one side: `kept` tokens each, `counts` of them for a text."""

    lengths: Numbers
    kept: Numbers
    counts: Numbers
    stride: int
    is_left: bool

    def bounds(self, texts: Numbers, numbers: Numbers) -> tuple[Numbers, Numbers]:
        """Return where the given windows of the given texts begin, and their lengths."""
        length, kept = self.lengths[texts], self.kept[texts]
        step = numbers * (kept - self.stride)
        if self.is_left:
            end = length - step
            begin = np.maximum(end - kept, 0)
        else:
            begin = step
            end = np.minimum(begin + kept, length)
        # A text of which nothing is kept has two windows: nothing, and all of it.
        is_kept = kept > 0
        begin = np.where(is_kept, begin, 0)
        end = np.where(is_kept, end, np.where(numbers > 0, length, 0))
        return begin, end - begin


def check_room(truncation: Truncation, n_added: int, n_added_single: int) -> int:
    """Return how many tokens of text a row may have; OptionError where the options cannot work."""
    room = truncation.max_length - n_added
    if room < 0:
        raise OptionError(
            f"max_length: expected room for the {n_added} special tokens of a row, "
            f"got {truncation.max_length}",
            hint="raise max_length, or leave out add_special_tokens",
        )
    # As in the library: those of a single text count here, whatever is added in this call.
    if 0 <= truncation.max_length - n_added_single < truncation.stride:
        raise OptionError(
            f"stride: expected less than max_length ({truncation.max_length}) without the special "
            f"tokens ({n_added_single}), got {truncation.stride}"
        )
    return room


def whole_windows(lengths: Sequence[Numbers]) -> list[Windows]:
    """Keep every text whole."""
    return [Windows(length, length, np.ones_like(length), 0, is_left=False) for length in lengths]


def cut_windows(lengths: Sequence[Numbers], truncation: Truncation, room: int) -> list[Windows]:
    """Cut the texts so that together they have at most `room` tokens."""
    kept = _kept_lengths(lengths, truncation.strategy, room)
    return [_windows(*side, truncation) for side in zip(lengths, kept, strict=True)]


def _windows(lengths: Numbers, kept: Numbers, truncation: Truncation) -> Windows:
    is_cut = kept < lengths
    step = kept - truncation.stride
    stuck = is_cut & (kept > 0) & (step <= 0)
    if stuck.any():
        document = int(np.argmax(stuck))
        raise EncodeError(
            f"expected a stride below the {kept[document]} tokens that a row keeps of this text, "
            f"got {truncation.stride}",
            document=document,
            hint="raise max_length or lower stride",
        )
    more = -((kept - lengths) // np.maximum(step, 1))
    counts = np.where(is_cut, np.where(kept > 0, 1 + more, 2), 1)
    return Windows(lengths, kept, counts, truncation.stride, truncation.is_left)


def _kept_lengths(lengths: Sequence[Numbers], strategy: str, room: int) -> list[Numbers]:
    if room == 0:
        return [np.zeros_like(length) for length in lengths]
    excess = np.sum(lengths, axis=0) - room
    if strategy == "longest_first":
        if len(lengths) == 1:
            return [np.minimum(lengths[0], room)]
        return _longest_first(lengths[0], lengths[1], excess, room)
    target = STRATEGY_SIDES[strategy]
    if target >= len(lengths):
        if (excess > 0).any():
            _no_second_text(int(np.argmax(excess > 0)))
        return list(lengths)
    short = (excess > 0) & (excess >= lengths[target])
    if short.any():
        _too_short(int(np.argmax(short)), strategy)
    kept = list(lengths)
    kept[target] = lengths[target] - np.maximum(excess, 0)
    return kept


STRATEGY_SIDES = {"only_first": 0, "only_second": 1}


def _longest_first(first: Numbers, second: Numbers, excess: Numbers, room: int) -> list[Numbers]:
    """Cut the longer text down to the shorter one, then both, the second keeping an odd token."""
    least = np.minimum(first, second)
    more = np.where(least > room, least, np.maximum(least, room - least))
    both = least + more > room
    least = np.where(both, room // 2, least)
    more = np.where(both, room // 2 + room % 2, more)
    is_swapped = first > second
    kept = (np.where(is_swapped, more, least), np.where(is_swapped, least, more))
    # A text that is shorter than its share stays whole.
    return [
        np.where(excess > 0, np.minimum(part, length), length)
        for part, length in zip(kept, (first, second), strict=True)
    ]


def _no_second_text(document: int) -> NoReturn:
    raise EncodeError(
        "expected a second text, which alone may be cut, got none",
        document=document,
        hint="give pairs, or use truncation='longest_first'",
    )


def _too_short(document: int, strategy: str) -> NoReturn:
    raise EncodeError(
        f"expected a text long enough to be cut to max_length, got one that is too short for "
        f"truncation={strategy!r}",
        document=document,
        hint="raise max_length, or use truncation='longest_first'",
    )

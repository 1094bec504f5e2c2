"""Texts -> padded batches under a budget of tokens, each of texts of like length.

A batch costs what a model computes: its rows times its longest row, padding included. Texts are
taken from the source a bucket at a time, sorted by length, the longest first, and cut into batches:

    lengths   9 9 7 | 6 6 5 5 | 3 3 2 2 1 1 1 1       max_tokens = 27
    cost       27       24           24

The longest come first, so that memory that is too small shows at once. Nothing but the lengths and
the order of the texts decides, so that a run can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokenmill._calls.options import core_options, row_dtype, texts_of, thread_count
from tokenmill._checks import one_of, whole_number, whole_number_or_none
from tokenmill._errors import EncodeError, OptionError
from tokenmill._post import Encoded, assemble, encode_side, wanted_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tokenmill._calls.encoded import EncodedBatch
    from tokenmill._model.ready import Ready
    from tokenmill._post import ResultOptions, Wanted
    from tokenmill._post.request import RowOptions

TOO_LONG = ("error", "alone")
_REFUSED = ("pairs", "return_overflowing", "offsets", "device")


@dataclass(frozen=True)
class Budget:
    """The bounds of a batch."""

    max_tokens: int
    max_rows: int | None
    bucket: int
    too_long: str

    @classmethod
    def checked(cls, max_tokens: int, max_rows: int | None, bucket: int, too_long: str) -> Budget:
        """Check the options of a call."""
        return cls(
            whole_number("max_tokens", max_tokens),
            whole_number_or_none("max_rows", max_rows),
            whole_number("bucket", bucket),
            one_of("too_long", too_long, TOO_LONG),
        )

    def cut(self, lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Cut rows, the longest first, into ranges that are within the bounds.

        A row that is longer than the budget is a range of its own.
        """
        ranges = []
        begin = 0
        while begin < len(lengths):
            count = max(1, self.max_tokens // max(1, int(lengths[begin])))
            count = count if self.max_rows is None else min(count, self.max_rows)
            ranges.append((begin, min(begin + count, len(lengths))))
            begin += count
        return ranges


class BudgetBatch:
    """One padded batch: an `EncodedBatch`, the numbers of its texts, and how full it is.

    `rows[i]` is the number of the text in row `i`, counted from 0 over the whole source. `tokens`
    counts its tokens without padding, and `fill` is their share of all.
    """

    __slots__ = ("encoded", "rows", "tokens")

    def __init__(self, encoded: EncodedBatch, rows: NDArray[np.int64], tokens: int) -> None:
        self.encoded = encoded
        self.rows = rows
        self.tokens = tokens

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the tokens, as a table."""
        return self.encoded.ids

    @property
    def attention_mask(self) -> NDArray[Any] | None:
        """0 for padding, 1 for all other tokens."""
        return self.encoded.attention_mask

    @property
    def fill(self) -> float:
        """Tokens without padding, as a share of all: 1 is a batch without padding."""
        return self.tokens / self.ids.size if self.ids.size else 1.0

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.ids.shape))
        return f"BudgetBatch({shape} ids, {self.fill:.1%} full)"


class BudgetBatches:
    """An iterator over batches that remembers where their rows belong."""

    def __init__(self, batches: Iterator[BudgetBatch]) -> None:
        self._batches = batches
        self._rows: list[NDArray[np.int64]] = []

    def __iter__(self) -> BudgetBatches:
        return self

    def __next__(self) -> BudgetBatch:
        batch = next(self._batches)
        self._rows.append(batch.rows)
        return batch

    def restore(self, outputs: Iterable[Sequence[Any]]) -> list[Any]:
        """Put results back in the order of the texts.

        `outputs` has one entry for each batch that came so far, in the same order, and each entry
        one result for every row.
        """
        given = list(outputs)
        if [len(rows) for rows in self._rows] != [len(output) for output in given]:
            raise OptionError(
                f"outputs: expected one for each of {len(self._rows)} batches, and in it one for "
                f"each row, got {len(given)}",
                hint="keep the results of every batch, in order",
            )
        pairs = [
            (int(number), output)
            for rows, batch in zip(self._rows, given, strict=True)
            for number, output in zip(rows, batch, strict=True)
        ]
        return [output for _, output in sorted(pairs, key=lambda pair: pair[0])]


def make_batches(
    ready: Ready, texts: Any, budget: Budget, options: RowOptions
) -> Iterator[BudgetBatch]:
    """Check the options at once; batches are made as they are asked for."""
    plan = _Plan(ready, budget, dict(options))
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        texts_of(texts)  # refuses it
    is_arrow = hasattr(texts, "__arrow_c_array__") or hasattr(texts, "__arrow_c_stream__")
    return plan.run((text.as_py() for text in texts) if is_arrow else iter(texts))


class _Plan:
    """What all buckets of a call share."""

    def __init__(self, ready: Ready, budget: Budget, options: dict[str, Any]) -> None:
        for name in _REFUSED:
            if options.pop(name, None):
                raise OptionError(f"{name}: batches by budget do not have it")
        self._ready = ready
        self._budget = budget
        self._add = bool(options.pop("add_special_tokens", False))
        special = options.pop("special_in_text", "encode")
        errors, threads = options.pop("errors", "strict"), options.pop("threads", None)
        self._core = core_options(False, special, errors, thread_count(threads))
        self._dtype, bits = row_dtype(options.pop("dtype", "int64"), ready.model.max_id)
        self._core |= {"bits": bits}
        self._wanted = _wanted(options)
        self._need = ready.tokens_needed(self._wanted, add_special_tokens=self._add)
        self._added = ready.templates.n_added(is_pair=False) if self._add else 0

    def run(self, texts: Iterator[Any]) -> Iterator[BudgetBatch]:
        first = 0
        while bucket := list(islice(texts, self._budget.bucket)):
            yield from self._of_bucket(bucket, first)
            first += len(bucket)

    def _of_bucket(self, texts: list[Any], first: int) -> Iterator[BudgetBatch]:
        try:
            side = encode_side(self._ready.model, texts, None, self._need, **self._core)
        except EncodeError as error:
            if error.document is None:
                raise
            raise error.renumbered(first + error.document) from error
        lengths = self._lengths(side)
        padded = self._padded(lengths)
        self._refuse_long(padded, first)
        order = np.argsort(-padded, kind="stable")
        for begin, end in self._budget.cut(padded[order]):
            rows = order[begin:end]
            batch = assemble(
                [_picked(side, rows)],
                self._ready.templates,
                self._wanted,
                add_special_tokens=self._add,
                dtype=self._dtype,
            )
            yield BudgetBatch(batch, rows + first, int(lengths[rows].sum()))

    def _lengths(self, side: Encoded) -> NDArray[np.int64]:
        """Return the tokens of each row, special ones included."""
        lengths: NDArray[np.int64] = np.diff(side.offsets) + self._added
        cut = self._wanted.truncation
        return lengths if cut is None else np.minimum(lengths, cut.max_length)

    def _padded(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what each row would be padded to if it were alone in a batch."""
        padding = self._wanted.padding
        multiple = 1 if padding is None else padding.multiple
        return -(-lengths // multiple) * multiple

    def _refuse_long(self, lengths: NDArray[np.int64], first: int) -> None:
        longest = int(np.argmax(lengths))
        if self._budget.too_long == "error" and lengths[longest] > self._budget.max_tokens:
            raise EncodeError(
                f"expected at most {self._budget.max_tokens} tokens in a batch, got a text of "
                f"{lengths[longest]}, padding included",
                document=first + longest,
                hint="too_long='alone' makes it a batch of its own, truncation cuts it",
            )


def _wanted(options: dict[str, Any]) -> Wanted:
    if options.get("padding", "longest") != "longest":
        raise OptionError("padding: batches by budget have 'longest' only")
    wanted = wanted_of(cast("ResultOptions", options | {"padding": "longest"}))
    if wanted is None:  # cannot be: padding was asked for
        raise OptionError("padding: expected 'longest'")
    return wanted


def _picked(side: Encoded, rows: NDArray[np.intp]) -> Encoded:
    """Return some of the texts, in another order."""
    lengths = np.diff(side.offsets)[rows]
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(side.offsets[rows] - offsets[:-1], lengths)
    return Encoded(side.ids[places], offsets)

"""Datasets -> batches of texts in Arrow, small enough for the memory; no Python lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill._errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tokenmill._causal.counts import Counts
    from tokenmill._causal.memory import BatchSize

_SAMPLE = 100  # documents that are measured first, and that are read from a stream at a time
# Documents of the first batch of a stream or a trial; each batch has twice as many as the one
# before. So the first rows need not wait for thousands of documents, which may come over a network
# or go through a slow tokenizer.
_FIRST = 100


@dataclass(frozen=True)
class TextBatch:
    """Texts without nulls and empty ones, the numbers of their rows, and the kept columns."""

    texts: pa.ChunkedArray
    rows: NDArray[np.int64]
    kept: pa.Table | None

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, begin: int, end: int) -> TextBatch:
        """Return texts `begin` to `end`, without a copy."""
        kept = None if self.kept is None else self.kept.slice(begin, end - begin)
        return TextBatch(self.texts.slice(begin, end - begin), self.rows[begin:end], kept)


def is_transformed(dataset: Any) -> bool:
    """Whether a Dataset has rows and a transform, so that its features do not describe them."""
    return bool(len(dataset)) and dataset.format["type"] == "custom"


def as_arrow(dataset: Any) -> Callable[[int, int], pa.Table]:
    """Return a function that reads rows `begin` to `end` of a Dataset, with its transform."""
    if is_transformed(dataset):
        return lambda begin, end: _table(dataset[begin:end])
    view = dataset.with_format("arrow")
    return lambda begin, end: view[begin:end]


def first_rows(dataset: Any, read: Callable[[int, int], pa.Table]) -> pa.Table:
    """Return the first documents of a Dataset, to estimate how many fit a batch."""
    return read(0, min(_SAMPLE, len(dataset)))


def dataset_tables(
    read: Callable[[int, int], pa.Table],
    rows: int,
    column: str,
    size: BatchSize,
    *,
    is_trial: bool = False,
) -> Iterator[pa.Table]:
    """Read a Dataset; each table has as many rows as memory allows, a trial starts with few."""
    row, few = 0, _FIRST
    while row < rows:
        size.check()
        count = min(few, size.documents) if is_trial else size.documents
        table = read(row, min(row + count, rows))
        if column not in table.column_names:
            raise _mixed(column)
        size.measure(table.column(column).nbytes, len(table))
        yield table
        row += count
        few *= 2


def stream_tables(stream: Any, column: str, size: BatchSize) -> Iterator[pa.Table]:
    """Read an IterableDataset of tables, and join them to batches that fit the memory."""
    waiting: list[pa.Table] = []
    documents = text_bytes = 0
    few = _FIRST
    for table in stream:
        if column not in table.column_names:
            raise _mixed(column)
        if not waiting:
            size.check()
        waiting.append(table)
        documents += len(table)
        text_bytes += table.column(column).nbytes
        if documents >= min(few, size.documents) or text_bytes >= size.text_bytes:
            size.measure(text_bytes, documents)
            yield _joined(waiting)
            waiting, documents, text_bytes = [], 0, 0
            few *= 2
    if waiting:
        yield _joined(waiting)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Join tables; a column may hold only None in some of them, which have another type."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _mixed(*tables[0].column_names) from error


def _mixed(*columns: str) -> OptionError:
    names = " or ".join(map(repr, columns))
    problem = f"expected values of one type, got several in the column {names}"
    return OptionError(problem, where="dataset", hint="cast the column first")


def stream_of(dataset: Any, batch_size: int | None) -> Iterator[pa.Table]:
    """Start to read an IterableDataset, a few documents at a time."""
    step = min(_SAMPLE, batch_size or _SAMPLE)
    source = getattr(dataset, "_ex_iterable", None)
    if getattr(source, "iter_arrow", None) is not None:
        yield from _formatted(dataset, "arrow").iter(batch_size=step)
        return
    # The library would make a table of each example of a generator.
    for examples in _formatted(dataset, None).iter(batch_size=step):
        yield _table(examples)


def _formatted(dataset: Any, kind: str | None) -> Any:
    """Return an IterableDataset in another format, in its epoch; a copy would start at 0."""
    view = dataset.with_format(kind)
    view.set_epoch(int(dataset._epoch))  # noqa: SLF001 -- not every version has a public name
    return view


def _table(examples: Mapping[str, Any]) -> pa.Table:
    arrays = {name: _array(values) for name, values in examples.items()}
    return pa.table({name: array for name, array in arrays.items() if array is not None})


def _array(values: Any) -> pa.Array | None:  # a list, or the result of a transform
    """Make a column of Python objects; None if Arrow cannot hold them, such as pictures."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


def text_batches(
    tables: Iterator[pa.Table],
    column: str,
    size: BatchSize,
    counts: Counts,
    *,
    keep: tuple[str, ...] = (),
    slice_bytes: int | None = None,
) -> Iterator[TextBatch]:
    """Leave out and count rows without a text, and cut tables that have too many bytes."""
    first = 0
    for table in tables:
        batch = _with_text(table, column, keep, first, counts)
        first += len(table)
        lengths = np.asarray(pc.binary_length(batch.texts), np.int64)
        most = min(size.text_bytes, slice_bytes or size.text_bytes)
        yield from _cut(batch, lengths, size.documents, most)


def _with_text(
    table: pa.Table, column: str, keep: tuple[str, ...], first: int, counts: Counts
) -> TextBatch:
    texts = _plain(table.column(column))
    rows = np.arange(first, first + len(table))
    kept = table.select(list(keep)) if keep else None
    lengths = pc.binary_length(texts)
    if texts.null_count == 0 and (len(texts) == 0 or pc.min(lengths).as_py() > 0):
        return TextBatch(texts, rows, kept)
    is_null = np.asarray(texts.is_null())
    has_text = np.asarray(pc.fill_null(pc.greater(lengths, 0), False))
    counts.note_none(rows[is_null])
    counts.empty += int((~has_text & ~is_null).sum())
    mask = pa.array(has_text)
    kept = None if kept is None else kept.filter(mask)
    return TextBatch(texts.filter(mask), rows[has_text], kept)


def _plain(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn dictionaries and views into plain arrays, so that the rest sees only those."""
    kind = texts.type
    if pa.types.is_null(kind):
        return texts.cast(pa.string())
    if pa.types.is_dictionary(kind):
        return texts.cast(kind.value_type)
    if pa.types.is_string_view(kind):
        return texts.cast(pa.large_string())
    return texts.cast(pa.large_binary()) if pa.types.is_binary_view(kind) else texts


def _cut(
    batch: TextBatch, lengths: NDArray[np.int64], documents: int, text_bytes: int
) -> Iterator[TextBatch]:
    """Cut a batch that has too many documents or bytes; a document is never cut."""
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(batch):
        before = int(ends[begin - 1]) if begin else 0
        end = int(np.searchsorted(ends, before + text_bytes, side="right"))
        end = min(max(end, begin + 1), begin + documents)
        yield batch.some(begin, end)
        begin = end

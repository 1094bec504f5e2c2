"""SplitRun: a Dataset -> a Dataset of rows, written as tokens arrive."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from tokenmill._causal.batches import (
    as_arrow,
    dataset_tables,
    first_rows,
    is_transformed,
    stream_tables,
    text_batches,
)
from tokenmill._causal.columns import choose_columns
from tokenmill._causal.counts import Counts
from tokenmill._causal.memory import BatchSize, writer_rows
from tokenmill._causal.rows import cut_rows, encode_batches
from tokenmill._causal.store import (
    RowStore,
    cache_key,
    open_rows,
    result_features,
    temporary_folder,
)
from tokenmill._causal.strategy import performance_line
from tokenmill._machine.memory import available_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._causal.job import Job
    from tokenmill._causal.options import Destination

_COLUMN = "text"  # of the tables that texts of files are laid out in


class Texts(Protocol):
    """Texts that are not a dataset: read once, in Arrow arrays of strings."""

    @property
    def fingerprint(self) -> str:
        """Return a name that no other texts have."""

    def __iter__(self) -> Iterator[Any]:
        """Read from the start."""


@dataclass(frozen=True)
class _Reading:
    """A split while it is read: its tables, its text column, how much is read at a time."""

    tables: Iterator[pa.Table]
    column: str
    size: BatchSize


@dataclass(frozen=True)
class _Result:
    """The result of a split: its features, its name, and the file for it."""

    features: Any
    split: Any
    path: Path
    where: str


@dataclass
class SplitRun:
    """Tokenizes one split after the other; `kind` is that of the whole dataset."""

    job: Job
    kind: str
    destination: Destination
    _last_line: str = field(default="", init=False)

    def result(self, dataset: Any, where: str = "") -> Any:  # Datasets
        """Return the rows of a split, from the cache if they are there."""
        options, known = self.job.options, dataset.features
        if is_transformed(dataset):
            sample = first_rows(dataset, as_arrow(dataset))
            known = type(known).from_arrow_schema(sample.schema)
        column = choose_columns(known.arrow_schema, options, self.job.log, where)
        features = result_features(self.job, {n: known[n] for n in options.keep_columns})
        path = self._path(dataset._fingerprint, column, where)  # noqa: SLF001 -- its only name
        result = _Result(features, dataset.split, path, where)
        if (cached := self._cached(result)) is not None:
            return cached
        source = dataset
        if not is_transformed(dataset):
            source = dataset.select_columns([column, *_others(self.job, column)])
        size = BatchSize(self.job.config.batch_size, self.job.log)
        read, is_trial = as_arrow(source), options.max_rows is not None
        texts = first_rows(source, read).column(column)
        size.measure(texts.nbytes, len(texts))
        tables = dataset_tables(read, len(source), column, size, is_trial=is_trial)
        watched = _watched(tables, len(source), self.job, where)
        return self._make(_Reading(watched, column, size), result)

    def result_of_texts(self, texts: Texts) -> Any:  # a Dataset
        """Return the rows of texts as a Dataset, from the cache if they are there."""
        path = self._path(texts.fingerprint, _COLUMN, "")
        result = _Result(result_features(self.job), None, path, "")
        if (cached := self._cached(result)) is not None:
            return cached
        size = BatchSize(self.job.config.batch_size, self.job.log)
        arrays = (pa.table({_COLUMN: array}) for array in texts)
        first = list(islice(arrays, 1))
        for table in first:
            size.measure(table.column(_COLUMN).nbytes, len(table))
        tables = stream_tables(chain(first, arrays), _COLUMN, size)
        watched = _watched(tables, None, self.job, "")
        return self._make(_Reading(watched, _COLUMN, size), result)

    def _cached(self, result: _Result) -> Any:  # a Dataset, or None
        if self.destination.force or not result.path.exists():
            return None
        try:
            found = open_rows(result.path, result.features, result.split)
        except (pa.ArrowInvalid, OSError) as error:
            self.job.log.warning(
                f"{result.where}made again, because the file in the cache cannot be read: "
                f"{result.path}: {error}"
            )
            return None
        self.job.log.info(f"{result.where}found in the cache: {result.path}")
        return found

    def _path(self, fingerprint: str, column: str, where: str) -> Path:
        cache = self.destination.cache_dir
        if cache is None:
            return temporary_folder() / f"tokenmill-{uuid.uuid4().hex}.arrow"
        key = cache_key(self.job, fingerprint, column)
        if key is None:
            self.job.log.warning(
                f"{where}not looked up in the cache: this tokenizer cannot be identified"
            )
            key = uuid.uuid4().hex
        return Path(cache) / f"tokenmill-{key}.arrow"

    def _make(self, reading: _Reading, result: _Result) -> Any:  # a Dataset
        job, size, counts = self.job, reading.size, Counts()
        length = job.shape.context_length
        self._log_performance(size)
        most = writer_rows(self.kind, length, available_bytes())
        job.log.debug(f"{result.where}writer batches of {most:,} rows")
        texts = text_batches(
            reading.tables,
            reading.column,
            size,
            counts,
            keep=job.options.keep_columns,
            slice_bytes=job.encoder.slice_bytes,
        )
        rows = cut_rows(job, encode_batches(job, texts, size, counts), counts)
        store = RowStore(
            result.path,
            result.features.arrow_schema,
            must_write=self.destination.cache_dir is not None,
        )
        store.put(rows, job, most)
        counts.report(job.log, result.where, length)
        return store.dataset(result.features, result.split)

    def _log_performance(self, size: BatchSize) -> None:
        line = performance_line(self.job.encoder, size.documents)
        if line != self._last_line:
            self.job.log.info(line)
            self._last_line = line


def _others(job: Job, column: str) -> list[str]:
    return [name for name in job.options.keep_columns if name != column]


def _watched(
    tables: Iterator[pa.Table], documents: int | None, job: Job, where: str
) -> Iterator[pa.Table]:
    """Show how many documents have been read."""
    from datasets.utils import tqdm  # an extra

    title = f"{where}tokenize"
    hidden = not job.config.show_progress
    with tqdm(total=documents, unit=" documents", desc=title, disable=hidden) as bar:
        for table in tables:
            yield table
            bar.update(len(table))

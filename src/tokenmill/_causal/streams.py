"""An IterableDataset -> an IterableDataset of rows: nothing is read before you iterate."""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tokenmill._causal.arrow_rows import ArrowRows
from tokenmill._causal.batches import stream_of, stream_tables, text_batches
from tokenmill._causal.columns import choose_columns
from tokenmill._causal.counts import Counts
from tokenmill._causal.log import Log
from tokenmill._causal.memory import BatchSize
from tokenmill._causal.rows import cut_rows, encode_batches
from tokenmill._causal.store import result_features
from tokenmill._causal.strategy import performance_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._causal.job import Job
    from tokenmill._causal.rows import CausalRows

_TABLE_TOKENS = 1 << 20  # of a table that is passed on


def stream_of_rows(job: Job, dataset: Any, where: str = "") -> Any:
    """Return a dataset that reads, encodes and cuts when it is iterated over, every time."""
    from datasets import DatasetInfo, IterableDataset  # an extra

    from tokenmill._causal.rows_iterable import RowsIterable  # the same

    features = _known_features(job, dataset, where)
    arguments = {"job": job, "dataset": dataset, "where": where}
    return IterableDataset(
        RowsIterable(_tables, arguments),
        info=DatasetInfo(features=features),
        split=dataset.split,
    )


def _known_features(job: Job, dataset: Any, where: str) -> Any:
    """Return the features of the result; None if only the first documents will show them."""
    keep = job.options.keep_columns
    if dataset.features is None:
        return None if keep else result_features(job)
    choose_columns(dataset.features.arrow_schema, job.options, Log("ERROR"), where)
    return result_features(job, {name: dataset.features[name] for name in keep})


def _tables(job: Job, dataset: Any, where: str) -> Iterator[tuple[int, pa.Table]]:
    counts = Counts()
    watch = counts.stopwatch
    with closing(job.encoder):
        schema, rows = _rows(job, dataset, where, counts)
        arrow = ArrowRows(job, schema)
        step = max(1, _TABLE_TOKENS // job.shape.context_length)
        number = 0
        for many in rows:
            for begin in range(0, len(many), step):
                some = many.some(begin, min(begin + step, len(many)))
                for batch in arrow.record_batches(some):
                    watch.pause()
                    yield number, pa.Table.from_batches([batch])
                    watch.resume()
                    number += 1
    counts.report(job.log, where, job.shape.context_length)


def _rows(
    job: Job,
    dataset: Any,
    where: str,
    counts: Counts,
) -> tuple[pa.Schema, Iterator[CausalRows]]:
    """Start to read; the first documents show the columns and how long texts are."""
    raw = stream_of(dataset, job.config.batch_size)
    first = next(raw, None)
    if first is None:
        return result_features(job).arrow_schema, iter(())
    options = job.options
    column = choose_columns(first.schema, options, job.log, where)
    schema = result_features(job).arrow_schema
    for name in options.keep_columns:
        schema = schema.append(first.schema.field(name))
    size = BatchSize(job.config.batch_size, job.log)
    size.measure(first.column(column).nbytes, len(first))
    job.log.info(performance_line(job.encoder, size.documents))
    tables = stream_tables(chain((first,), raw), column, size)
    texts = text_batches(
        tables,
        column,
        size,
        counts,
        keep=options.keep_columns,
        slice_bytes=job.encoder.slice_bytes,
    )
    return schema, cut_rows(job, encode_batches(job, texts, size, counts), counts)

"""Rows -> a Dataset: in memory if they are few, else in an Arrow file that it maps."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tokenmill._causal.arrow_rows import ArrowRows
from tokenmill._causal.memory import memory_rows_bytes
from tokenmill._causal.rows import regroup
from tokenmill._files import UNFINISHED, writing
from tokenmill._platform.files import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._causal.job import Job
    from tokenmill._causal.rows import CausalRows

_ABANDONED_SECONDS = 24 * 3600
_VERSION = 2  # of the files that the same call writes; 2: lists of a fixed size


def result_features(job: Job, kept: dict[str, Any] | None = None) -> Any:  # of datasets
    """Return the features of a result: three columns of lists, and the kept columns.

    The lists have a fixed size unless short rows stay short: Arrow then stores no offsets, a
    tensor of rows is one reshape, and the schema shows the context length.
    """
    import datasets  # an extra

    length = -1 if job.options.tail == "carry" else job.shape.context_length

    def numbers(kind: str) -> Any:
        return datasets.Sequence(datasets.Value(kind), length=length)

    own = {
        "input_ids": numbers("int32"),
        "attention_mask": numbers("int8"),
        "labels": numbers("int32"),
    }
    return datasets.Features({**own, **(kept or {})})


def cache_key(job: Job, fingerprint: str, column: str) -> str | None:
    """Return a name that two calls share only if they give the same rows; None if unknown."""
    identity = job.encoder.identity
    if identity is None:
        return None
    facts = {
        "version": _VERSION,
        "dataset": fingerprint,
        "column": column,
        "tokenizer": identity,
        "context_length": job.shape.context_length,
        "overlap": job.shape.overlap,
        "options": asdict(job.options),
        "ends": [job.eos_id, job.bos_id, job.shape.pad_id],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


class RowStore:
    """Where the rows of a split go: kept in memory while they are few, else written to a file.

    With `must_write` they go to the file at once. A thread writes while the next rows are made.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, must_write: bool) -> None:
        self._path = path
        self._schema = schema
        self._limit = 0 if must_write else memory_rows_bytes()
        self._kept: list[pa.RecordBatch] = []
        self._kept_bytes = 0
        self._file: _Unfinished | None = None

    def put(self, rows: Iterable[CausalRows], job: Job, writer_rows: int) -> None:
        """Take all rows; an error leaves no file."""
        arrow = ArrowRows(job, self._schema)
        try:
            for group in regroup(rows, writer_rows, job.shape.context_length):
                self._kept_bytes += group.table.ids.nbytes * 2  # labels and masks, at most
                for batch in arrow.record_batches(group):
                    self._take(batch)
            if self._limit == 0:
                self._open()
            if self._file is not None:
                self._file.commit()
        finally:
            if self._file is not None:
                self._file.discard()

    def dataset(self, features: Any, split: Any) -> Any:  # of datasets
        """Return the rows as a Dataset."""
        if self._file is not None:
            return open_rows(self._path, features, split)
        import datasets  # an extra

        table = pa.Table.from_batches(self._kept, self._schema)
        info = datasets.DatasetInfo(features=features)
        # A random name, because the library would hash all rows to find one.
        return datasets.Dataset(table, info, split, fingerprint=uuid.uuid4().hex[:16])

    def _take(self, batch: pa.RecordBatch) -> None:
        if self._kept_bytes <= self._limit:
            self._kept.append(batch)
            return
        self._open().write(batch)

    def _open(self) -> _Unfinished:
        """Start the file with the rows that were kept so far."""
        if self._file is None:
            self._file = _Unfinished(self._path, self._schema)
            for batch in self._kept:
                self._file.write(batch)
            self._kept = []
        return self._file


class _Unfinished:
    """An unfinished Arrow file; it gets its name only when it is complete."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path)
            self._file = pa.OSFile(str(self._unfinished), "wb")
            self._writer = pa.ipc.new_stream(self._file, schema)
        self._thread = ThreadPoolExecutor(1)
        self._pending: Future[None] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Write in a thread; at most one batch waits."""
        self._wait()
        self._pending = self._thread.submit(self._write, batch)

    def _write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def commit(self) -> None:
        """Finish the file and rename it."""
        self._wait()
        with writing(self._path):
            self._writer.close()
            self._file.close()
            replace(self._unfinished, self._path)

    def discard(self) -> None:
        """Remove the file, unless it has its name already."""
        self._thread.shutdown()
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self._unfinished.unlink()

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            with writing(self._path):
                pending.result()


def _sweep(path: Path) -> None:
    """Remove the leftovers of killed runs; a file that was written lately may be in use."""
    for left in path.parent.glob(f"{path.name}.*{UNFINISHED}"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                left.unlink()


def open_rows(path: Path, features: Any, split: Any) -> Any:  # of datasets
    """Map a finished file as a Dataset."""
    import datasets  # an extra

    info = datasets.DatasetInfo(features=features)
    return datasets.Dataset.from_file(str(path), info=info, split=split)


def temporary_folder() -> Path:
    """Return a folder that `datasets` removes when the process ends."""
    from datasets.fingerprint import get_temporary_cache_files_directory

    return Path(get_temporary_cache_files_directory())

"""Rows -> an Arrow file -> a Dataset that maps it; in a cache folder, or for this process only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tokenmill._causal.rows import regroup, to_record_batches
from tokenmill._files import UNFINISHED, writing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenmill._causal.job import Job
    from tokenmill._causal.rows import Rows

_VERSION = 1  # of the rows that the same call gives


def result_features(kept: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 -- of datasets
    """Return the features of a result: three columns of lists, and the kept columns."""
    import datasets  # noqa: PLC0415 -- an extra

    def numbers(kind: str) -> Any:  # noqa: ANN401
        return datasets.Sequence(datasets.Value(kind))

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
        "context_length": job.config.context_length,
        "overlap": job.config.overlap,
        "options": asdict(job.options),
        "ends": [job.eos_id, job.bos_id, job.pad_id],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def write_rows(
    rows: Iterable[Rows], job: Job, schema: pa.Schema, path: Path, writer_rows: int
) -> None:
    """Write a file that `datasets` maps: whole, or not there."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = pa.OSFile(str(unfinished), "wb")
    try:
        with file, pa.ipc.new_stream(file, schema) as out:
            for group in regroup(rows, writer_rows):  # reading may fail, too: not the disk's fault
                with writing(path):
                    for batch in to_record_batches(group, job, schema):
                        out.write_batch(batch)
        unfinished.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            unfinished.unlink()


def open_rows(path: Path, features: Any, split: Any) -> Any:  # noqa: ANN401 -- of datasets
    """Map a finished file as a Dataset."""
    import datasets  # noqa: PLC0415 -- an extra

    info = datasets.DatasetInfo(features=features)
    return datasets.Dataset.from_file(str(path), info=info, split=split)


def temporary_folder() -> Path:
    """Return a folder that `datasets` removes when the process ends."""
    from datasets.fingerprint import get_temporary_cache_files_directory  # noqa: PLC0415

    return Path(get_temporary_cache_files_directory())

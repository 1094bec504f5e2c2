"""Objects of `datasets` in, the same kind of object out."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokenmill._causal.job import make_job
from tokenmill._causal.split_run import SplitRun
from tokenmill._causal.streams import stream_of_rows
from tokenmill._errors import MissingDependency, OptionError

if TYPE_CHECKING:
    from tokenmill._causal.job import Job
    from tokenmill._causal.options import Destination, Options
    from tokenmill._causal.split_run import Texts
    from tokenmill._causal.tokenizer import CausalLMTokenizer

_KINDS = ("Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")


def tokenize_dataset(
    face: CausalLMTokenizer,
    dataset: Any,  # of datasets
    options: Options,
    destination: Destination,
) -> Any:  # the same kind
    """Tokenize a Dataset, DatasetDict, IterableDataset or IterableDatasetDict."""
    kind = _kind_of(dataset)
    job = make_job(face, options)
    if kind.startswith("Iterable"):
        if destination.cache_dir is not None:
            job.log.warning(f"cache_dir is ignored: an {kind} is tokenized as it is read")
        return _streams(job, dataset, kind)
    run = SplitRun(job, kind, destination)
    with closing(job.encoder):
        if kind == "Dataset":
            return run.result(dataset)
        splits = {name: run.result(split, f"{name}: ") for name, split in dataset.items()}
    return type(dataset)(splits)


def tokenize_texts(
    face: CausalLMTokenizer,
    texts: Texts,
    options: Options,
    destination: Destination,
) -> Any:  # a Dataset
    """Tokenize texts that are not a dataset, such as those of files, into a Dataset."""
    _import_datasets()
    if options.keep_columns:
        problem = f"files have only texts, got {list(options.keep_columns)}"
        raise OptionError(problem, where="keep_columns", hint="load them with datasets first")
    job = make_job(face, options)
    with closing(job.encoder):
        return SplitRun(job, "Dataset", destination).result_of_texts(texts)


def _streams(job: Job, dataset: Any, kind: str) -> Any:  # of datasets
    if kind == "IterableDataset":
        return stream_of_rows(job, dataset)
    splits = {name: stream_of_rows(job, one, f"{name}: ") for name, one in dataset.items()}
    return type(dataset)(splits)


def _kind_of(dataset: object) -> str:
    datasets = _import_datasets()
    for kind in _KINDS:
        if isinstance(dataset, getattr(datasets, kind)):
            return kind
    raise OptionError(
        f"expected a {', '.join(_KINDS)}, a path, a glob or a list of them, "
        f"got {type(dataset).__name__}",
        where="dataset",
        hint="datasets.Dataset.from_dict({'text': texts}) makes a Dataset",
    )


def _import_datasets() -> Any:  # a module
    try:
        return import_module("datasets")
    except ImportError as error:
        raise MissingDependency(
            "not installed, but tokenizing a dataset needs it",
            name="datasets",
            hint="pip install 'tokenmill[hf]'",
        ) from error

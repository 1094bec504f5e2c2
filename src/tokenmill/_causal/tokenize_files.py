"""Files -> rows, and rows -> shards: the calls of `tokenize` that the mill does."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._causal.counts import speed
from tokenmill._causal.log import Log
from tokenmill._errors import OptionError
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task
from tokenmill._pack.derive import IGNORE_INDEX

if TYPE_CHECKING:
    from tokenmill._causal.options import Destination, Options
    from tokenmill._causal.tokenizer import CausalLMTokenizer
    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.pack import PackResult


def tokenize_files(
    face: CausalLMTokenizer,
    dataset: Any,  # paths; with an output also datasets
    options: Options,
    destination: Destination,
) -> Any:
    """Return the rows of files as a Dataset, or write the rows of anything as shards."""
    log = Log(face.config.verbose_level)
    if destination.output is not None:
        config = face.config
        given = {
            "batch_size": config.batch_size,
            "num_proc": config.num_proc,
            "cache_dir": destination.cache_dir,
        }
        if ignored := [name for name, value in given.items() if value is not None]:
            log.warning(f"{', '.join(ignored)} ignored: with output= the mill does the work")
        return write_output(face, dataset, options, destination)
    from tokenmill._causal.file_texts import FileTexts  # pyarrow
    from tokenmill._causal.tokenize_datasets import tokenize_texts  # datasets

    texts = FileTexts(dataset, options.text_column)
    log.info(texts.words)
    rows = tokenize_texts(face, texts, options, destination)
    if complaint := texts.complaint():
        log.warning(complaint)
    return rows


def write_output(
    face: CausalLMTokenizer, dataset: Any, options: Options, destination: Destination
) -> Manifest | dict[str, Manifest]:
    """Pack a dataset or files into shards; the same call again resumes.

    A dict of splits goes into a folder for each, and returns a dict of manifests. The format
    decides about short rows: parquet and arrow never pad, and have `seq_lengths` instead.
    """
    _refuse_what_shards_lack(options, face.config.overlap)
    if reason := face.context_length_reason:
        log = Log(face.config.verbose_level)
        log.info(f"context_length={face.context_length}: {reason}")
    output = Path(destination.output or "")
    splits = dataset if isinstance(dataset, Mapping) else {"": dataset}
    manifests = {
        name: _write_split(face, split, options, replace(destination, output=output / name))
        for name, split in splits.items()
    }
    return manifests if isinstance(dataset, Mapping) else manifests[""]


def _write_split(
    face: CausalLMTokenizer, split: Any, options: Options, destination: Destination
) -> Manifest:
    config = face.config
    output = Path(destination.output or "")
    bos = {} if options.bos is None else {"bos": options.bos}  # None would mean: if there is one
    task = prepare_task(
        split,
        output=output,
        tokenizer=face.source,
        context_length=face.context_length,
        pack="concat" if options.pack else "pad",
        overlap=config.overlap,
        format=destination.format,
        field=options.text_column,
        tail=options.tail,
        eos=options.eos,
        pad=options.pad,
        special_in_text=options.special_in_text,
        max_sequences=options.max_rows,
        **bos,  # type: ignore[arg-type]
    )
    progress = "bar" if config.show_progress and sys.stderr.isatty() else "none"
    result = pack_task(task, output=output, force=destination.force, progress=progress)
    Log(config.verbose_level).info(_words(result))
    return result.manifest


def _words(result: PackResult) -> str:
    manifest, meter = result.manifest, result.meter
    books = manifest.documents
    rows = sum({shard["index"]: shard["rows"] for shard in manifest.shards}.values())
    left = [f"{count:,} {why.replace('_', ' ')}" for why, count in books["skipped"].items()]
    skipped = f" (left out: {', '.join(left)})" if left else ""
    words = f"{books['out']:,} of {books['in']:,} documents{skipped} -> {rows:,} rows in "
    if result.was_finished:
        return f"{words}{manifest.folder}, finished by an earlier run"
    done = speed(
        meter.seconds,
        meter.documents - meter.resumed_documents,
        meter.tokens - meter.resumed_tokens,
        meter.input_bytes - meter.resumed_bytes,
    )
    return f"{words}{manifest.folder} in {done}"


def _refuse_what_shards_lack(options: Options, overlap: int) -> None:
    """Refuse options that would be lost: shards hold ids and borders, but no labels."""
    without = "omit output= to get columns, or use PackedDataset, which makes labels from shards"
    if options.mask_overlap or options.ignore_index != IGNORE_INDEX:
        name = "mask_overlap" if options.mask_overlap else "ignore_index"
        raise OptionError("shards store no labels", where=name, hint=without)
    if options.keep_columns:
        raise OptionError(
            f"shards store no other columns, got {list(options.keep_columns)}",
            where="keep_columns",
            hint=without,
        )
    if overlap and not options.pack:
        raise OptionError(
            f"shards can overlap only with pack=True, got overlap {overlap} and pack=False",
            where="overlap",
            hint="choose pack=True or overlap=0, or omit output=",
        )

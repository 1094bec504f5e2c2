"""Files -> rows, and rows -> shards: what `tokenize` leaves to the mill."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._causal.options import IGNORE_INDEX
from tokenmill._causal.voice import Voice
from tokenmill._errors import OptionError
from tokenmill._mill.pack import pack

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tokenmill._causal.options import Options
    from tokenmill._causal.tokenizer import CausalLMTokenizer
    from tokenmill._mill.output.manifest import Manifest


def tokenize_files(
    face: CausalLMTokenizer,
    dataset: Any,  # paths; with `output` also datasets
    options: Options,
    *,
    output: str | os.PathLike[str] | None,
    format: str | Sequence[str],  # noqa: A002 -- the mill's word
    cache_dir: str | os.PathLike[str] | None,
    force: bool,
) -> Any:
    """Return the rows of files as a Dataset, or write the rows of anything as shards."""
    voice = Voice(face.config.verbose_level)
    if output is not None:
        config = face.config
        given = {
            "batch_size": config.batch_size,
            "num_proc": config.num_proc,
            "cache_dir": cache_dir,
        }
        if ignored := [name for name, value in given.items() if value is not None]:
            voice.warning(
                f"{', '.join(ignored)} ignored: with output= the mill works in its own way"
            )
        return write_output(face, dataset, options, output=output, format=format, force=force)
    from tokenmill._causal.datasets_face import tokenize_texts  # datasets
    from tokenmill._causal.file_texts import FileTexts  # pyarrow

    texts = FileTexts(dataset, options.text_column)
    voice.info(texts.words)
    rows = tokenize_texts(face, texts, options, cache_dir=cache_dir, force=force)
    if complaint := texts.complaint():
        voice.warning(complaint)
    return rows


def write_output(
    face: CausalLMTokenizer,
    dataset: Any,
    options: Options,
    *,
    output: str | os.PathLike[str],
    format: str | Sequence[str],  # noqa: A002
    force: bool,
) -> Manifest | dict[str, Manifest]:
    """Pack a dataset or files into shards; the same call again resumes.

    A dict of splits goes into a folder for each, and gives a dict of manifests. Short rows are as
    the format has them: parquet and arrow never pad, and tell by `seq_lengths` what is in a row.
    """
    _refuse_what_shards_lack(options, face.config.overlap)
    splits = dataset if isinstance(dataset, Mapping) else {"": dataset}
    manifests = {
        name: _write_split(face, split, options, Path(output) / name, format, force=force)
        for name, split in splits.items()
    }
    return manifests if isinstance(dataset, Mapping) else manifests[""]


def _write_split(
    face: CausalLMTokenizer,
    split: Any,
    options: Options,
    output: Path,
    format: str | Sequence[str],  # noqa: A002
    *,
    force: bool,
) -> Manifest:
    config = face.config
    bos = {} if options.bos is None else {"bos": options.bos}  # None would mean: if there is one
    manifest = pack(
        split,
        output=output,
        tokenizer=face.source,
        force=force,
        progress="bar" if config.show_progress and sys.stderr.isatty() else "none",
        context_length=config.context_length,
        pack="concat" if options.pack else "pad",
        overlap=config.overlap,
        format=format,
        field=options.text_column,
        tail=options.tail,
        eos=options.eos,
        pad=options.pad,
        special_in_text=options.special_in_text,
        max_sequences=options.max_rows,
        **bos,  # type: ignore[arg-type]
    )
    Voice(config.verbose_level).info(_words(manifest))
    return manifest


def _words(manifest: Manifest) -> str:
    books = manifest.documents
    rows = sum({shard["index"]: shard["rows"] for shard in manifest.shards}.values())
    left = [f"{count:,} {why.replace('_', ' ')}" for why, count in books["skipped"].items()]
    skipped = f" (left out: {', '.join(left)})" if left else ""
    return f"{books['out']:,} of {books['in']:,} documents{skipped} -> {rows:,} rows in " + str(
        manifest.folder
    )


def _refuse_what_shards_lack(options: Options, overlap: int) -> None:
    """Raise where a choice would be lost: shards hold ids and borders, labels are made of them."""
    without = "leave output= away for columns, or see PackedDataset, which makes labels of shards"
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
            f"in shards only rows of the stream share tokens, got overlap {overlap} and pack=False",
            where="overlap",
            hint="choose pack=True or overlap=0, or leave output= away",
        )

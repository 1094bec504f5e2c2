"""`tokenmill pretokenize`: a dataset or a folder -> rows for a trainer, by the mill."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _summary
from tokenmill._cli._milling import run_task, say
from tokenmill._cli._options import add_tokenizer, positive
from tokenmill._cli._pack_options import tokenizer_of
from tokenmill._cli._process import prepare_process

if TYPE_CHECKING:
    from tokenmill._cli._options import Commands
    from tokenmill._mill.output.manifest import Manifest

FILES_FAILED = 4  # the exit status of a run that is done, without files that cannot be read
_SHOWN = 20  # of them by name
_BAD_FILE = "bad_file"
_EPILOG = """\
examples:
  tokenmill pretokenize --dataset finewebedu --chunk-size 32768 --batch-size 5000 \\
      --cache-dir data/ --output tokenized/
  tokenmill pretokenize --dataset finewebedu --chunk-size 2048 --streaming --max-chunks 1000 \\
      --output trial/
  tokenmill pretokenize --dataset owner/name --split validation --text-column body \\
      -t llama3/tokenizer.json --chunk-size 4096 --output tokenized/
  tokenmill pretokenize --input-dir raw/ --output-dir tokenized/ --chunk-size 4096 \\
      --num-workers 8 --sequences-per-chunk 10000 --prefetch-files 4

The same command again goes on where it was stopped, except with --streaming. `tokenmill pack` has
more: weights, shuffling, a validation split, other ways to pack.
exit status: 0 done, 1 the data or the machine failed, 2 the command is wrong, 3 more bad records
than --max-bad allows, 4 done but for files that cannot be read (they are named), 130 Ctrl-C.
"""


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "pretokenize",
        help="a dataset of the hub or a folder to rows of tokens; resumes",
        description="Tokenize a dataset by its name, or a folder, into rows of --chunk-size tokens "
        "that are written as they come. A short way to call `tokenmill pack`.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_inputs(parser)
    _add_rows(parser.add_argument_group("rows (these decide the result)"))
    _add_files(parser.add_argument_group("files (these decide how rows are stored, never a row)"))
    _add_running(parser.add_argument_group("running (never changes the result)"))
    parser.set_defaults(run=lambda options: _run(parser, options))


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("inputs (these decide the result)")
    group.add_argument(
        "--dataset",
        metavar="NAME",
        help="a preset (see --list-datasets), an id of the hub as owner/name, or a path",
    )
    group.add_argument("--input-dir", metavar="FOLDER", help="local files instead of --dataset")
    group.add_argument("--config", metavar="NAME", help="of the dataset (default: the preset's)")
    group.add_argument("--split", metavar="NAME", help="of the dataset (default: train)")
    group.add_argument("--revision", metavar="NAME", help="of the dataset: a tag or a commit")
    group.add_argument(
        "--text-column",
        "--field",
        dest="field",
        metavar="NAME",
        help="the column with the text (default: the preset's, or found and said)",
    )
    group.add_argument(
        "--streaming",
        action="store_true",
        help="read the dataset as it comes over the net, nothing is downloaded first; a run that "
        "was stopped begins anew",
    )
    parser.add_argument(
        "--list-datasets", action="store_true", help="print the presets and what they are"
    )


def _add_rows(group: argparse._ArgumentGroup) -> None:
    add_tokenizer(group)
    group.add_argument("--chunk-size", type=positive, metavar="N", help="tokens of a row; required")
    group.add_argument(
        "--overlap", type=int, default=0, metavar="N", help="tokens that rows share (default 0)"
    )
    group.add_argument(
        "--max-chunks", type=positive, metavar="N", help="stop after so many rows, for a trial"
    )
    group.add_argument(
        "--eos",
        nargs="?",
        const=True,
        metavar="TOKEN|ID",
        help="ends every document (default: on, found beside the tokenizer)",
    )
    group.add_argument("--no-eos", action="store_true", help="put nothing between documents")
    group.add_argument(
        "--bos", nargs="?", const=True, metavar="TOKEN|ID", help="begins every document"
    )
    group.add_argument(
        "--tail",
        choices=["carry", "pad", "drop"],
        help="the last, short row is kept short, padded or dropped (default: kept where the "
        "format can, else padded; parquet and arrow never pad)",
    )


def _add_files(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-o",
        "--output",
        "--output-dir",
        dest="output",
        metavar="FOLDER",
        help="where the files go; required",
    )
    group.add_argument(
        "--format",
        default="parquet",
        metavar="NAME[,NAME]",
        help="parquet (default), arrow, bin, npy, mds, litdata, torch and those of `pack`",
    )
    group.add_argument(
        "--sequences-per-chunk",
        type=positive,
        metavar="N",
        help="rows of a file (default: as many as make 33,554,432 tokens)",
    )


def _add_running(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--num-workers",
        type=positive,
        metavar="N",
        help="threads (default: what this process may use)",
    )
    group.add_argument(
        "--batch-size",
        type=positive,
        metavar="N",
        help="rows that are asked of a dataset at a time (default 1000); files are read by bytes",
    )
    group.add_argument(
        "--prefetch-files",
        type=positive,
        metavar="N",
        help="ask the system for so many files before their turn (default: none)",
    )
    group.add_argument(
        "--cache-dir", metavar="FOLDER", help="where a dataset of the hub is kept; not for files"
    )
    group.add_argument(
        "--memory-limit",
        metavar="SIZE",
        help="of the whole run, as 2GB; makes longer documents than an eighth of it too_long",
    )
    group.add_argument(
        "--max-bad", metavar="N|SHARE%", help="stop with exit status 3 past so many bad records"
    )
    group.add_argument("--force", action="store_true", help="start over, whatever is in the output")
    group.add_argument(
        "--progress",
        choices=["auto", "bar", "plain", "json", "none"],
        default="auto",
        help="a bar on a terminal, plain lines elsewhere (auto), or as named",
    )
    group.add_argument("--quiet", action="store_true", help="say nothing but errors")
    group.add_argument("--json", action="store_true", help="print the result as JSON on stdout")


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.list_datasets:
        _list_datasets()
        return 0
    _check(parser, options)
    prepare_process()
    from tokenmill._mill.plan.task import prepare_task  # imports numpy

    began = time.perf_counter()
    quiet = options.quiet or options.json
    task = prepare_task(
        _source(options, quiet=quiet),
        tokenizer=tokenizer_of(options),
        memory_limit=options.memory_limit,
        output=options.output,
        fetch_rows=options.batch_size,
        **_keywords(options),
    )
    result = run_task(
        task,
        options,
        quiet=quiet,
        workers=options.num_workers,
        progress="none" if quiet else options.progress,
        read_ahead=options.prefetch_files or 0,
    )
    seconds, failed = time.perf_counter() - began, failed_files(result.manifest)
    if options.json:
        sys.stdout.write(json.dumps(_facts(result.manifest, seconds, failed)) + "\n")
    elif not quiet:
        say("\n".join([_summary.closing(result, seconds), *_failures(result.manifest, failed)]))
    return FILES_FAILED if failed else 0


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if (options.dataset is None) == (options.input_dir is None):
        parser.error("expected one of --dataset NAME and --input-dir FOLDER")
    for name in ("chunk_size", "output"):
        if getattr(options, name) is None:
            parser.error(f"the following arguments are required: --{name.replace('_', '-')}")
    if options.eos is not None and options.no_eos:
        parser.error("--eos and --no-eos contradict each other")


def _source(options: argparse.Namespace, *, quiet: bool) -> Any:  # as of pack
    """Return what the mill reads; what is loaded is said before, since it may take long."""
    from tokenmill._mill.plan.hub import load_source
    from tokenmill._mill.plan.presets import HubDataset, find_dataset

    found = options.input_dir or find_dataset(options.dataset)
    if not isinstance(found, HubDataset):
        _say_lines(_without_effect(options), quiet=quiet)
        return found
    given = {name: getattr(options, name) for name in ("config", "split", "revision")}
    given["column"] = options.field
    wanted = dataclasses.replace(found, **{k: v for k, v in given.items() if v is not None})
    told = [f"{'dataset':<12}{wanted.words}" + (f": {wanted.note}" if wanted.note else "")]
    if options.streaming:
        told.append(
            f"{'resume':<12}not possible: a stream is read from its beginning each time; without "
            "--streaming\n            it is downloaded once, and a run that was stopped goes on"
        )
    _say_lines(told, quiet=quiet)
    return load_source(wanted, streaming=options.streaming, cache_dir=options.cache_dir)


def _without_effect(options: argparse.Namespace) -> list[str]:
    """Name the options that have a meaning only for a dataset of the hub."""
    names = ("config", "split", "revision", "streaming", "cache_dir", "batch_size")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    return [f"{'ignored':<12}{', '.join(given)}: the input is files, not the hub"] if given else []


def _keywords(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options as `tokenmill.pack` names them."""
    keywords: dict[str, Any] = {
        "context_length": options.chunk_size,
        "pack": "concat",
        "overlap": options.overlap,
        "max_sequences": options.max_chunks,
        "format": options.format,
        "field": options.field,
        "tail": options.tail,
        "on_bad": {_BAD_FILE: "quarantine"},
        "eos": False if options.no_eos else options.eos,
    }
    if options.bos is not None:
        keywords["bos"] = options.bos
    if options.sequences_per_chunk is not None:
        keywords["shard_tokens"] = options.sequences_per_chunk * options.chunk_size
    return keywords


def failed_files(manifest: Manifest) -> list[dict[str, str]]:
    """Return the files that a finished run could not read: `file` and `problem`."""
    if not manifest.documents["skipped"].get(_BAD_FILE):
        return []
    with (manifest.folder / "quarantine.jsonl").open(encoding="utf-8") as lines:
        return [
            {"file": record["file"], "problem": record["message"]}
            for record in map(json.loads, lines)
            if record["reason"] == _BAD_FILE
        ]


def _failures(manifest: Manifest, failed: list[dict[str, str]]) -> list[str]:
    if not failed:
        return []
    lines = [f"\n{len(failed):,} of the files cannot be read; nothing of them is in the result:"]
    lines += [f"  {one['file']}: {one['problem']}" for one in islice(failed, _SHOWN)]
    if len(failed) > _SHOWN:
        lines.append(f"  and {len(failed) - _SHOWN:,} more in {manifest.folder}/quarantine.jsonl")
    return lines


def _facts(manifest: Manifest, seconds: float, failed: list[dict[str, str]]) -> dict[str, Any]:
    rows = sum(shard["rows"] for shard in manifest.shards)
    return {**_summary.facts(manifest, seconds), "rows": rows, "failed": failed}


def _list_datasets() -> None:
    from tokenmill._mill.plan.presets import read_presets

    for name, preset in read_presets().items():
        sys.stdout.write(f"{name:<20}{preset.words}, column {preset.column}\n")
        sys.stdout.write(f"{'':<20}{preset.note}\n")


def _say_lines(lines: list[str], *, quiet: bool) -> None:
    if lines and not quiet:
        say("\n".join(lines))

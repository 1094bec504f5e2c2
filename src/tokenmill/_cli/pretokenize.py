"""`tokenmill pretokenize`: a dataset or a folder -> rows for a trainer, by the mill."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _pretokenize_options, _summary
from tokenmill._cli._accounts import BAD_FILE
from tokenmill._cli._failed_files import failed_files, failure_lines
from tokenmill._cli._lines import note
from tokenmill._cli._milling import PackCall, print_note, run_call, run_options, tokenizer_of
from tokenmill._cli._pack_call import eos_of
from tokenmill._cli._pretokenize_options import CHUNK_SIZE
from tokenmill._cli._pretokenize_source import find_source
from tokenmill._cli._process import prepare_process

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands
    from tokenmill._cli._pretokenize_source import NamedSource

_FILES_FAILED = 4
_EPILOG = """\
examples:
  tokenmill pretokenize --dataset finewebedu --chunk-size 32768 --batch-size 5000 --cache-dir data/
  tokenmill pretokenize --dataset finewebedu --streaming --max-chunks 1000 --output trial/
  tokenmill pretokenize --dataset owner/name --split validation --text-column body \\
      -t llama3/tokenizer.json --chunk-size 4096
  tokenmill pretokenize --input-dir raw/ --output-dir tokenized/ --num-workers 8 \\
      --sequences-per-chunk 10000 --prefetch-files 4

Run the same command again to resume a run that was stopped, except with --streaming. `tokenmill
pack` can do more: weights, shuffling, a validation split, other ways to pack.
exit status: 0 done, 1 the data or the machine failed, 2 the command is wrong, 3 more bad records
than --max-bad allows, 4 done, but some files could not be read (they are listed), 130 Ctrl-C.
"""


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "pretokenize",
        usage="%(prog)s [OPTIONS] (--dataset NAME | --input-dir FOLDER)",
        help="turn a dataset from the hub, or a folder, into rows of tokens; resumes",
        description="Tokenize a dataset by its name, or a folder, into rows of --chunk-size "
        "tokens. A short way to call `tokenmill pack`.",
        epilog=_EPILOG,
    )
    _pretokenize_options.add_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.list_datasets:
        _list_datasets()
        return 0
    if (options.dataset is None) == (options.input_dir is None):
        options.parser.error("give either --dataset NAME or --input-dir FOLDER")
    ends = eos_of(options)
    prepare_process()
    start = time.perf_counter()
    source = find_source(options)
    quiet = options.quiet or options.json
    lines = [*source.notes, *_fill_defaults(options, source)]
    if lines and not quiet:
        print_note("\n".join(lines))  # before the dataset is loaded, which may take long
    run = run_options(options, read_ahead=options.prefetch_files or 0)
    keywords = {**_keywords(options), **ends}
    call = PackCall(source.load(options), tokenizer_of(options), keywords, run)
    result, seconds = run_call(call, quiet=quiet, start=start)
    manifest, failed = result.manifest, failed_files(result.manifest)
    if options.json:
        facts = {**_summary.run_facts(result, seconds), "failed": failed}
        sys.stdout.write(json.dumps(facts) + "\n")
    elif not quiet:
        print_note("\n".join([_summary.closing(result, seconds), *failure_lines(manifest, failed)]))
    return _FILES_FAILED if failed else 0


def _fill_defaults(options: argparse.Namespace, source: NamedSource) -> list[str]:
    """Set the options that decide the result and were not given; return lines that name them."""
    lines = []
    if options.context_length is None:
        options.context_length = CHUNK_SIZE
        lines.append(note("chunk size", f"{CHUNK_SIZE} tokens (default; set it with --chunk-size)"))
    if options.output is None:
        options.output = source.default_output
        lines.append(note("output", f"{options.output} (default; set it with --output)"))
    return lines


def _keywords(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options as `tokenmill.pack` names them."""
    keywords: dict[str, Any] = {
        "context_length": options.context_length,
        "pack": "concat",
        "overlap": options.overlap,
        "max_sequences": options.max_sequences,
        "format": options.format,
        "field": options.field,
        "tail": options.tail,
        "on_bad": {BAD_FILE: "quarantine"},
        "fetch_rows": options.batch_size,
    }
    if options.bos is not None:
        keywords["bos"] = options.bos
    if options.sequences_per_chunk is not None:
        keywords["shard_tokens"] = options.sequences_per_chunk * options.context_length
    return keywords


def _list_datasets() -> None:
    from tokenmill._mill.plan.presets import read_presets

    for name, preset in read_presets().items():
        sys.stdout.write(f"{name:<20}{preset.words}, column {preset.column}\n")
        sys.stdout.write(f"{'':<20}{preset.note}\n")

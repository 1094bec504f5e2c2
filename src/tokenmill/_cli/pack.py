"""`tokenmill pack`: files -> packed shards, and a summary that adds up."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _pack_options, _summary
from tokenmill._cli._milling import print_note, run_call
from tokenmill._cli._options import use_config
from tokenmill._cli._pack_call import read_call
from tokenmill._cli._process import prepare_process

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands

_EPILOG = """\
examples:
  tokenmill pack 'data/*.jsonl.zst' -t llama3/tokenizer.json -o packed/ --context-length 4096
  tokenmill pack wiki.parquet code.jsonl -o packed/ --context-length 2048 --pack bestfit
  tokenmill pack data/ -o meg/ --format megatron
  tokenmill pack --source web.jsonl:0.7 --source code.jsonl:0.3 -o mix/ --context-length 4096 \\
      --shuffle docs --seed 7

Run the same command again to resume a run that was stopped.
exit status: 0 done, 1 the data or the machine failed, 2 the command is wrong, 3 more bad records
than --max-bad allows, 130 stopped by Ctrl-C.
"""


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "pack",
        usage="%(prog)s [OPTIONS] -o FOLDER INPUT ...",
        help="turn files into packed shards for a trainer; resumes",
        description="Tokenize files and pack the tokens into shards, each document exactly once. "
        "Bad records go to a quarantine with their place and reason.",
        epilog=_EPILOG,
    )
    _pack_options.add_inputs(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="where the shards go: a folder, or an address such as s3://bucket/packed (or `output` "
        "in the recipe)",
    )
    _pack_options.add_options(parser)
    _pack_options.add_run_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    prepare_process()
    use_config(options)
    call = read_call(options)
    if call.run.output is None:
        options.parser.error("-o/--output is required")
    quiet = options.quiet or options.json
    result, seconds = run_call(call, quiet=quiet)
    if options.json:
        sys.stdout.write(json.dumps(_summary.run_facts(result, seconds)) + "\n")
    elif not quiet:
        print_note(_summary.closing(result, seconds))

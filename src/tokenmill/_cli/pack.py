"""`tokenmill pack`: files -> packed shards, and a summary that adds up."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from tokenmill._cli import _pack_options, _summary
from tokenmill._cli._milling import run_task, say
from tokenmill._cli._process import prepare_process

if TYPE_CHECKING:
    from tokenmill._cli._options import Commands

_EPILOG = """\
examples:
  tokenmill pack 'data/*.jsonl.zst' -t llama3/tokenizer.json -o packed/ --context-length 4096
  tokenmill pack wiki.parquet code.jsonl -o packed/ --context-length 2048 --pack bestfit
  tokenmill pack data/ -o meg/ --format megatron
  tokenmill pack --source web.jsonl:0.7 --source code.jsonl:0.3 -o mix/ --context-length 4096 \\
      --shuffle docs --seed 7

The same command again goes on where it was stopped. exit status: 0 done, 1 the data or the machine
failed, 2 the command is wrong, 3 more bad records than --max-bad allows, 130 stopped by Ctrl-C.
"""


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "pack",
        help="files to packed, checksummed shards for a trainer; resumes",
        description="Tokenize files and pack the tokens into shards, exactly once each document. "
        "Bad records are put aside with their place and counted, and the books must balance.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _pack_options.add_inputs(parser)
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="where the shards go (or `output` of the recipe)"
    )
    _pack_options.add_options(parser)
    _pack_options.add_run_options(parser)
    parser.set_defaults(run=lambda options: _run(parser, options))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    prepare_process()
    from tokenmill._mill.plan.task import prepare_task  # imports numpy

    inputs, keywords = _pack_options.read(parser, options)
    if options.output is None:
        parser.error("the following arguments are required: -o/--output")
    began = time.perf_counter()
    task = prepare_task(
        inputs,
        tokenizer=_pack_options.tokenizer_of(options),
        memory_limit=options.memory_limit,
        output=options.output,
        **keywords,
    )
    quiet = options.quiet or options.json
    result = run_task(
        task,
        options,
        quiet=quiet,
        workers=options.workers,
        progress="none" if options.quiet else options.progress or "auto",
        device=options.device or "cpu",
    )
    seconds = time.perf_counter() - began
    if options.json:
        device = {"device": result.device.name, "device_note": result.device.note}
        facts = {**_summary.facts(result.manifest, seconds), **device}
        sys.stdout.write(json.dumps(facts) + "\n")
    elif not quiet:
        say(_summary.closing(result, seconds))

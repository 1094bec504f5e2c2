"""`tokenmill count`: how many ids a text has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _options

if TYPE_CHECKING:
    import argparse


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "count",
        usage="%(prog)s [OPTIONS] [FILE ...]",
        help="count ids",
        description="Print the number of ids of each file, and a total for several files.",
    )
    _options.add_files(parser, "text files")
    _options.add_tokenizer(parser)
    _options.add_text_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    tokenizer = _options.load(options)
    total = 0
    for name in options.files:
        with _options.placed(name, options.documents):
            counts = tokenizer.count_batch(
                _options.documents(_options.read(name), options.documents),
                threads=options.threads,
                add_special_tokens=options.add_special_tokens,
                special_in_text=options.special_in_text,
                errors=options.errors,
            )
        total += int(counts.sum())
        sys.stdout.write(f"{int(counts.sum())}\t{name}\n")
    if len(options.files) > 1:
        sys.stdout.write(f"{total}\ttotal\n")

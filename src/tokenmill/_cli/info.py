"""`tokenmill info`: what a tokenizer is and how it runs here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _options

if TYPE_CHECKING:
    import argparse


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "info",
        usage="%(prog)s [OPTIONS] [SOURCE]",
        help="describe a tokenizer",
        description="Print which normalizer, split and code path a tokenizer uses, and why.",
    )
    parser.add_argument(
        "tokenizer", nargs="?", metavar="SOURCE", help="(default: the built-in tokenizer)"
    )
    _options.add_pattern(parser)
    _options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    description = _options.load(options).describe()
    text = description.to_json() if options.json else str(description)
    sys.stdout.write(text + "\n")

"""`tokenmill compile`: a tokenizer -> one `.mill` file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli import _options

if TYPE_CHECKING:
    import argparse


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "compile",
        usage="%(prog)s [OPTIONS] SOURCE OUT",
        help="compile a tokenizer to one .mill file",
        description="Compile a tokenizer to one file, which loads without being compiled again.",
    )
    parser.add_argument("source", metavar="SOURCE", help="the tokenizer")
    parser.add_argument("out", metavar="OUT", type=Path, help="the file to write, e.g. name.mill")
    _options.add_pattern(parser)
    parser.add_argument(
        "--compress",
        action="store_true",
        help="write a small file for shipping; it is compiled again when loaded",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._tokenizer import compile_file  # imports numpy

    compile_file(options.source, options.out, pattern=options.pattern, compressed=options.compress)
    size = options.out.stat().st_size
    sys.stderr.write(f"wrote {options.out}, {size:,} bytes\n")

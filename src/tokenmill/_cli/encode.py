"""`tokenmill encode`: text -> ids."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _options

if TYPE_CHECKING:
    import argparse

    from tokenmill._calls.batch import TokenBatch


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "encode",
        usage="%(prog)s [OPTIONS] [FILE ...]",
        help="turn text into ids",
        description="Print the ids of each text, one line per text, or raw ids with --binary.",
    )
    _options.add_files(parser, "text files")
    _options.add_tokenizer(parser)
    _options.add_text_options(parser)
    parser.add_argument(
        "--binary",
        action="store_true",
        help="write raw little-endian ids, all texts one after another",
    )
    parser.add_argument(
        "--dtype",
        choices=["uint16", "uint32"],
        default="uint32",
        help="number type of --binary (default: uint32)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.binary and sys.stdout.isatty():
        options.parser.error(
            "--binary would fill the terminal with raw bytes; hint: redirect stdout"
        )
    tokenizer = _options.load(options)
    for name in options.files:
        with _options.placed(name, options.documents):
            batch = tokenizer.encode_batch(
                _options.documents(_options.read(name), options.documents),
                threads=options.threads,
                dtype=options.dtype if options.binary else "uint32",
                add_special_tokens=options.add_special_tokens,
                special_in_text=options.special_in_text,
                errors=options.errors,
            )
        if options.binary:
            _write_binary(batch)
        else:
            _write_text(batch)


def _write_binary(batch: TokenBatch) -> None:
    little = batch.ids.astype(batch.ids.dtype.newbyteorder("<"), copy=False)
    sys.stdout.buffer.write(little.data)


def _write_text(batch: TokenBatch) -> None:
    for row in batch:
        sys.stdout.write(" ".join(map(str, row.tolist())) + "\n")

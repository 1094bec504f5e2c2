"""`tokenmill report`: a page, or JSON, about a packed corpus."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli._options import add_json, add_quiet, add_tokenizer_source, add_workers

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tokenmill._cli._options import Commands

_EPILOG = """\
examples:
  tokenmill report packed/ -o report.html
  tokenmill report packed/ --json | python -m json.tool
  tokenmill report packed/ -o report.html --language field=lang --sample 1%
"""


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "report",
        usage="%(prog)s [OPTIONS] OUTPUT (-o FILE | --json)",
        help="write a page about a packed corpus",
        description="Count what a finished output holds and show it on one offline page: lengths "
        "and tokens per byte by source and language, padding and truncation, copies, the "
        "quarantine, the vocabulary, and sample rows. Reads all rows, and changes nothing.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "output", metavar="OUTPUT", help="the folder or address you passed to `pack`"
    )
    parser.add_argument(
        "-o", "--html", metavar="FILE", help="write the page there, e.g. report.html"
    )
    parser.add_argument(
        "--sample",
        metavar="SHARE",
        help="read only this share of the rows, e.g. 0.01 or 1%%; copies are then not counted",
    )
    parser.add_argument(
        "--language",
        default="auto",
        metavar="HOW",
        help="how to find the language of a document: auto (a code in the name of its file), "
        "field=NAME (a field of the inputs, which are read again), path=REGEX (one group), or none "
        "(default: auto)",
    )
    parser.add_argument(
        "--rows", type=_rows, default=6, metavar="N", help="sample rows to show (default: 6)"
    )
    add_tokenizer_source(parser)
    add_workers(parser)
    add_quiet(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.html is None and not options.json:
        options.parser.error("expected -o FILE for the page, or --json")
    from tokenmill._files import writing
    from tokenmill._mill.report.report import report  # imports numpy

    found = report(
        options.output,
        tokenizer=options.tokenizer,
        sample=options.sample,
        language=options.language,
        rows=options.rows,
        workers=options.workers,
        note=_counter() if sys.stderr.isatty() and not options.quiet else _silent,
    )
    if options.html is not None:
        path = Path(options.html)
        with writing(path):
            path.write_text(found.as_html(), encoding="utf-8", errors="backslashreplace")
        if not options.quiet:
            sys.stderr.write(f"tokenmill: wrote {path}\n")
    if options.json:
        sys.stdout.write(json.dumps(found.facts) + "\n")


def _silent(_done: int, _of: int) -> None:
    """Show no progress."""


def _counter() -> Callable[[int, int], None]:
    """Return what shows progress on a terminal, ten times a second at most."""
    import time

    last = 0.0

    def show(done: int, of: int) -> None:
        nonlocal last
        if done >= of:
            sys.stderr.write("\r\x1b[2K")
        elif time.monotonic() - last > 0.1:  # noqa: PLR2004
            last = time.monotonic()
            sys.stderr.write(f"\r\x1b[2K{done / of:4.0%}  {done:,} of {of:,} rows")
        sys.stderr.flush()

    return show


def _rows(text: str) -> int:
    import argparse

    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)

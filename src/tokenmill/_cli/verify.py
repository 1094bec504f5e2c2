"""`tokenmill verify`: a finished output against its manifest."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tokenmill._cli._lines import counted
from tokenmill._cli._options import add_json, add_tokenizer_source, add_workers

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands
    from tokenmill._mill.verify.verify import VerifyReport


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "verify",
        usage="%(prog)s [OPTIONS] OUTPUT",
        help="check a finished output: files, ids, documents and books",
        description="Check that every file of an output exists and is complete, that indexes, ids "
        "and documents agree, and that the counts add up. Exit status 1 if anything is wrong.",
    )
    parser.add_argument(
        "output", metavar="OUTPUT", help="the folder or address you passed to `pack`"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="tokenize and pack the inputs again, next to the output, and compare every file",
    )
    add_tokenizer_source(parser)
    add_workers(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._mill.verify.verify import verify  # imports numpy

    report = verify(
        options.output, full=options.full, tokenizer=options.tokenizer, workers=options.workers
    )
    text = json.dumps(report.as_json()) if options.json else _text(report)
    sys.stdout.write(text + "\n")
    return 0 if report.ok else 1


def _text(report: VerifyReport) -> str:
    lines = [
        f"checked     {counted(report.files, 'file')}, {report.bytes:,} bytes; "
        f"{counted(report.shards, 'shard')}, {counted(report.rows, 'row')}, "
        f"{counted(report.documents, 'document')}, {counted(report.tokens, 'token')}",
        *(f"warning     {warning}" for warning in report.warnings),
        *(f"WRONG       {problem}" for problem in report.problems),
    ]
    again = ", and tokenizing again writes the same bytes" if report.full else ""
    lines.append(
        f"whole       {report.output}: everything matches the manifest{again}"
        if report.ok
        else f"damaged     {report.output}: {counted(len(report.problems), 'problem')}"
    )
    return "\n".join(lines)

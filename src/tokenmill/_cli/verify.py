"""`tokenmill verify`: a finished output against its manifest."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tokenmill._cli._options import add_tokenizer_source
from tokenmill._cli._summary import counted

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands
    from tokenmill._mill.verify.verify import VerifyReport


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "verify",
        help="check a finished output: files, ids, documents and books",
        description="Check that every file of an output is there and whole, that indexes, ids and "
        "documents agree, and that the books balance. Exit status 1 if anything is wrong.",
    )
    parser.add_argument("output", metavar="OUTPUT", help="the folder given to `pack`")
    parser.add_argument(
        "--full",
        action="store_true",
        help="tokenize and pack the inputs again, beside the output, and compare every file",
    )
    add_tokenizer_source(parser)
    parser.add_argument("--workers", type=int, metavar="N", help="threads")
    parser.add_argument("--json", action="store_true", help="as JSON")
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
    again = ", and tokenizing again gives the same bytes" if report.full else ""
    count = len(report.problems)
    lines.append(
        f"whole       {report.output}: everything is as the manifest says{again}"
        if report.ok
        else f"damaged     {report.output}: {count} problem{'s' if count > 1 else ''}"
    )
    return "\n".join(lines)

"""`tokenmill status`: how far a run has come."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _summary

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "status",
        help="how far a `pack` has come",
        description="Read the records of an output: finished, or how much of it is done.",
    )
    parser.add_argument("output", metavar="OUTPUT", help="the folder given to `pack`")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._mill.status import status  # imports numpy

    facts = status(options.output)
    text = json.dumps(facts) if options.json else _summary.status(facts)
    sys.stdout.write(text + "\n")

"""`tokenmill status`: how far a run has come."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tokenmill._cli._accounts import documents_read
from tokenmill._cli._lines import counted, line, named, size
from tokenmill._cli._options import add_json

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "status",
        usage="%(prog)s [--json] OUTPUT",
        help="show how far a `pack` has come",
        description="Report from the records of an output whether it is finished, and if not, how "
        "much is done.",
    )
    parser.add_argument("output", metavar="OUTPUT", help="the folder you passed to `pack`")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._mill.status import status  # imports numpy

    facts = status(options.output)
    text = json.dumps(facts) if options.json else _text(facts)
    sys.stdout.write(text + "\n")


def _text(facts: dict[str, Any]) -> str:
    return "\n".join((_finished if facts["state"] == "finished" else _unfinished)(facts))


def _finished(facts: dict[str, Any]) -> list[str]:
    books, tokens = facts["documents"], facts["tokens"]
    return [
        line("finished", f"{facts['shards']:,}", named(facts["shards"], "shard")),
        line("documents", f"{books['out']:,}", f"packed, {documents_read(books):,} read"),
        line("tokens", f"{tokens['out']:,}", "stored"),
    ]


def _unfinished(facts: dict[str, Any]) -> list[str]:
    share = facts["input_bytes"] / facts["total_bytes"] if facts["total_bytes"] else 0.0
    done = f"{size(facts['input_bytes'])} of {size(facts['total_bytes'])}"
    parts, bad = counted(facts["parts"], "part"), counted(facts["bad"], "bad record")
    return [
        line("unfinished", f"{share:.0%}", f"tokenized: {done}, {parts}"),
        line("documents", f"{facts['documents']:,}", f"so far, {bad}"),
        line("tokens", f"{facts['tokens']:,}", "so far"),
        line("shards", f"{facts['shards']:,}", "so far"),
        "run the same `tokenmill pack` command again to resume",
    ]

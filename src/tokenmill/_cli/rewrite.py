"""`tokenmill convert`, `reshard` and `merge`: finished outputs -> a new one, without tokenizing."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli import _summary

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands

_SAME = "The same command again goes on where it was stopped."


def register(commands: Commands) -> None:
    """Add the three commands to the command line."""
    convert = commands.add_parser(
        "convert",
        help="a finished output in other formats",
        description="Write the rows of a finished output in other formats, without tokenizing "
        f"again; shards stay as they are. {_SAME}",
    )
    _add_outputs(convert)
    convert.add_argument(
        "--format", required=True, metavar="NAME[,NAME]", help="the formats, as of `pack`"
    )
    _add_run_options(convert)
    reshard = commands.add_parser(
        "reshard",
        help="a finished output in shards of another size",
        description=f"Put the rows of a finished output into larger or smaller shards. {_SAME}",
    )
    _add_outputs(reshard)
    reshard.add_argument(
        "--shard-tokens", required=True, type=int, metavar="N", help="tokens of a shard"
    )
    _add_format(reshard)
    _add_run_options(reshard)
    merge = commands.add_parser(
        "merge",
        help="several finished outputs as one",
        description="Put finished outputs of one tokenizer and context length one behind the "
        f"other. Documents are numbered on, and the books are added up. {_SAME}",
    )
    merge.add_argument("outputs", nargs="+", metavar="OUTPUT", help="folders given to `pack`")
    merge.add_argument(
        "--shard-tokens", type=int, metavar="N", help="tokens of a shard (default: as they are)"
    )
    _add_format(merge)
    _add_run_options(merge)


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("outputs", nargs=1, metavar="OUTPUT", help="the folder given to `pack`")


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", metavar="NAME[,NAME]", help="default: those of the output")


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", required=True, metavar="FOLDER", help="where the new output goes"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="threads (default: what this process may use)"
    )
    parser.add_argument(
        "--force", action="store_true", help="start over where another run has written"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    parser.set_defaults(run=_run, shard_tokens=None)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._mill.rewrite.rewrite import rewrite  # imports numpy

    began = time.perf_counter()
    manifest = rewrite(
        [Path(output) for output in options.outputs],
        output=options.output,
        format=options.format,
        shard_tokens=options.shard_tokens,
        workers=options.workers,
        force=options.force,
    )
    seconds = time.perf_counter() - began
    if options.json:
        sys.stdout.write(json.dumps(_summary.facts(manifest, seconds)) + "\n")
    elif not options.quiet:
        sys.stderr.write(_summary.rewritten(manifest, seconds) + "\n")

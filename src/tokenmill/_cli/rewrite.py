"""`tokenmill convert`, `reshard` and `merge`: finished outputs -> a new one, without tokenizing."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli import _summary
from tokenmill._cli._options import add_json, add_quiet, add_watching, add_workers

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands

_SAME = "Run the same command again to resume a run that was stopped."


def register(commands: Commands) -> None:
    """Add the three commands to the command line."""
    convert = commands.add_parser(
        "convert",
        usage="%(prog)s OUTPUT -o FOLDER --format NAME[,NAME] [OPTIONS]",
        help="write a finished output in other formats",
        description="Write the rows of a finished output in other formats, without tokenizing "
        f"again. The shards keep their rows. {_SAME}",
    )
    _add_outputs(convert)
    convert.add_argument(
        "--format",
        required=True,
        metavar="NAME[,NAME]",
        help="formats of the new output; see `tokenmill pack --help`",
    )
    _add_run_options(convert)
    reshard = commands.add_parser(
        "reshard",
        usage="%(prog)s OUTPUT -o FOLDER --shard-tokens N [OPTIONS]",
        help="write a finished output in shards of another size",
        description=f"Put the rows of a finished output into larger or smaller shards. {_SAME}",
    )
    _add_outputs(reshard)
    reshard.add_argument(
        "--shard-tokens", required=True, type=int, metavar="N", help="tokens per shard"
    )
    _add_format(reshard)
    _add_run_options(reshard)
    merge = commands.add_parser(
        "merge",
        usage="%(prog)s OUTPUT ... -o FOLDER [OPTIONS]",
        help="join several finished outputs into one",
        description="Join finished outputs of the same tokenizer and context length, one after the "
        f"other. Document numbers continue, and the books are added up. {_SAME}",
    )
    merge.add_argument(
        "outputs", nargs="+", metavar="OUTPUT", help="folders or addresses you passed to `pack`"
    )
    merge.add_argument(
        "--shard-tokens",
        type=int,
        metavar="N",
        help="tokens per shard (default: keep the shards as they are)",
    )
    _add_format(merge)
    _add_run_options(merge)


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "outputs", nargs=1, metavar="OUTPUT", help="the folder or address you passed to `pack`"
    )


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        metavar="NAME[,NAME]",
        help="formats of the new output (default: those of OUTPUT)",
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", required=True, metavar="FOLDER", help="where the new output goes"
    )
    add_workers(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="start over: remove what an earlier run wrote to the output",
    )
    add_watching(parser)
    add_quiet(parser)
    add_json(parser)
    parser.set_defaults(run=_run, shard_tokens=None)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._mill.rewrite.rewrite import rewrite  # imports numpy

    start = time.perf_counter()
    manifest = rewrite(
        [Path(output) for output in options.outputs],
        output=options.output,
        format=options.format,
        shard_tokens=options.shard_tokens,
        workers=options.workers,
        force=options.force,
        progress="none" if options.quiet else options.progress or "auto",
        metrics=options.metrics,
        otlp=options.otlp,
    )
    seconds = time.perf_counter() - start
    if options.json:
        sys.stdout.write(json.dumps(_summary.rewrite_facts(manifest, seconds)) + "\n")
    elif not options.quiet:
        sys.stderr.write(_summary.rewritten(manifest, seconds) + "\n")

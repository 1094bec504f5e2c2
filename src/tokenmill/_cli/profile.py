"""`tokenmill profile`: where the time and the memory of a command go, and what to change."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._profile_table import profile_lines

if TYPE_CHECKING:
    import argparse

_EPILOG = """\
examples:
  tokenmill profile -- tokenmill pack data.jsonl.gz -o packed/ --context-length 4096
  tokenmill profile -- python train.py
  tokenmill profile tokenize 'data/*.jsonl' -t tokenizer.json
  tokenmill profile --with memray -- python train.py

Shows the stages of every run, the word tables, memory by owner, the ten hottest functions, and
hints: what was measured, the likely cause, and the change to make.
exit status: that of the command.
"""


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    profile = commands.add_parser(
        "profile",
        usage="%(prog)s [OPTIONS] -- COMMAND ...\n       %(prog)s tokenize [OPTIONS] INPUT ...",
        help="show where the time of a command goes, and what to change",
        description="Run a command, and show where the time of its tokenizers goes and what to "
        "change.",
        epilog=_EPILOG,
        default_command="run",
    )
    kinds = profile.add_subparsers(
        title="what to profile", metavar="WHAT", prog=profile.prog, required=True
    )
    _add_run(kinds)
    _add_tokenize(kinds)


def _add_run(kinds: _options.Commands) -> None:
    parser = kinds.add_parser(
        "run",
        usage="%(prog)s [OPTIONS] -- COMMAND ...",
        help="a command, after --; the default",
        description="Run a command, and show where the time of its tokenizers goes and what to "
        "change.",
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="a command and its arguments")
    _add_options(parser)
    parser.set_defaults(run=_run)


def _add_tokenize(kinds: _options.Commands) -> None:
    parser = kinds.add_parser(
        "tokenize",
        usage="%(prog)s [OPTIONS] INPUT ...",
        help="your files with `pack`, into a temporary folder",
        description="Pack files into a temporary folder and show where the time goes.",
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="files, globs or folders that `pack` can read"
    )
    _options.add_tokenizer(parser)
    _options.add_fields(parser)
    parser.add_argument(
        "--work", default=".", metavar="FOLDER", help="where the output is written (default: here)"
    )
    _options.add_workers(parser, "--workers")
    _options.add_config(parser)
    _add_options(parser)
    parser.set_defaults(run=_tokenize)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with", dest="profiler", choices=["py-spy", "memray", "none"], default="py-spy",
        help="how to examine functions: py-spy samples them; memray counts what they allocate, "
        "which is slow (default: py-spy, if it is installed)",
    )  # fmt: skip
    _options.add_json(parser)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._profile.profile import profile

    report = profile(options.command, options.profiler, quiet_output=options.json)
    if options.json:
        sys.stdout.write(json.dumps(report.as_json()) + "\n")
    else:
        sys.stdout.flush()
        sys.stdout.write("\n".join(profile_lines(report)) + "\n")
    return report.status


def _tokenize(options: argparse.Namespace) -> int:
    Path(options.work).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".tokenmill-profile-", dir=options.work) as folder:
        options.command = _pack_command(options, folder)
        return _run(options)


def _pack_command(options: argparse.Namespace, folder: str) -> list[str]:
    names = ("tokenizer", "pattern", "field", "text_mode", "workers", "config")
    given = {name: getattr(options, name) for name in names}
    return [
        sys.executable, "-m", "tokenmill", "pack", *options.inputs, "-o", f"{folder}/output",
        "--context-length", "2048", "--quiet", *_options.as_arguments(given),
    ]  # fmt: skip

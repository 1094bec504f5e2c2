"""`tokenmill plan`: what `pack` would do."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli import _pack_options, _summary

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "plan",
        help="what `pack` would do: files, tokens, disk and time, from a sample",
        description="The arguments of `tokenmill pack`; nothing is written. A sample of the inputs "
        "is tokenized, and the rest is reckoned from it.",
    )
    _pack_options.add_inputs(parser)
    parser.add_argument("-o", "--output", default=".", metavar="FOLDER", help="of the pack to come")
    _pack_options.add_options(parser)
    _pack_options.add_run_options(parser)
    parser.set_defaults(run=lambda options: _run(parser, options))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    from tokenmill._calls.threads import available
    from tokenmill._mill.estimate import estimate  # imports numpy
    from tokenmill._mill.plan.task import prepare_task  # imports numpy

    inputs, keywords = _pack_options.read(parser, options)
    task = prepare_task(
        inputs,
        tokenizer=_pack_options.tokenizer_of(options),
        memory_limit=options.memory_limit,
        output=options.output,
        **keywords,
    )
    guess = estimate(task, Path(options.output), options.workers or available())
    if options.json:
        sys.stdout.write(json.dumps({"plan_id": task.plan.id, **asdict(guess)}) + "\n")
        return
    sys.stdout.write(_summary.opening(task, Path(options.output)) + "\n")
    sys.stdout.write(_summary.estimate(guess) + "\n")

"""`tokenmill plan`: what `pack` would do."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli import _pack_options, _summary
from tokenmill._cli._lines import counted, duration, line, note, size
from tokenmill._cli._milling import prepare, print_note
from tokenmill._cli._pack_call import read_call

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._options import Commands
    from tokenmill._mill.estimate import Estimate

_OF_RUNS = ("max_bad", "force", "progress", "device", "quiet")


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "plan",
        usage="%(prog)s [OPTIONS] INPUT ...",
        help="estimate what `pack` would write, from a sample",
        description="Takes the arguments of `tokenmill pack` and writes nothing. Tokenizes a "
        "sample of the inputs and estimates documents, tokens, disk space and time.",
    )
    _pack_options.add_inputs(parser)
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="the folder you will pass to `pack` (default: .)"
    )
    _pack_options.add_options(parser)
    _pack_options.add_run_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._calls.threads import available
    from tokenmill._mill.estimate import estimate  # imports numpy

    given = [f"--{name.replace('_', '-')}" for name in _OF_RUNS if getattr(options, name)]
    if given:
        print_note(note("ignored", f"{', '.join(given)}: no effect on a plan"))
    call = read_call(options)
    output = Path(call.run.output or ".")
    task = prepare(dataclasses.replace(call, run=dataclasses.replace(call.run, output=str(output))))
    guess = estimate(task, output, call.run.workers or available())
    if options.json:
        facts = {"plan_id": task.plan.id, **dataclasses.asdict(guess)}
        sys.stdout.write(json.dumps(facts) + "\n")
        return
    sys.stdout.write(f"{_summary.opening(task, output)}\n{_text(guess)}\n")


def _text(guess: Estimate) -> str:
    need = guess.output_bytes + guess.work_bytes
    enough = "enough" if guess.free_bytes > need else "NOT ENOUGH"
    bad = f"{guess.bad_share:.2%}"
    return "\n".join(
        [
            line("streams", f"{guess.streams:,}", f"in {counted(guess.files, 'file')}"),
            line("documents", f"{guess.documents:,}", f"estimated; {bad} of the records are bad"),
            line("tokens", f"{guess.tokens:,}", "estimated"),
            line("disk", size(guess.output_bytes), "for the output"),
            line("", f"+{size(guess.work_bytes)}", "during the run"),
            line("", size(guess.free_bytes), f"free: {enough}"),
            line("time", duration(guess.seconds), "estimated"),
            line("sample", size(guess.sample_bytes), "were tokenized for this estimate"),
        ]
    )

"""`tokenmill plan`: what `pack` would do."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _pack_options, _summary
from tokenmill._cli._lines import counted, line, note
from tokenmill._cli._milling import prepare, print_note, shown_output
from tokenmill._cli._pack_call import read_call
from tokenmill._numbers import duration, size

if TYPE_CHECKING:
    import argparse

    from tokenmill._cli._milling import PackCall
    from tokenmill._cli._options import Commands
    from tokenmill._mill.estimate import Estimate
    from tokenmill._mill.plan.task import Task
    from tokenmill._mill.ranks.forecast import Forecast

_OF_RUNS = (
    "max_bad",
    "force",
    "progress",
    "device",
    "quiet",
    "metrics",
    "otlp",
    "rank",
    "engine",
    "address",
)
_MEGA = 1e6


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "plan",
        usage="%(prog)s [OPTIONS] INPUT ...",
        help="estimate what `pack` would write, from a sample",
        description="Tokenize a sample of the inputs, and estimate documents, tokens, disk space "
        "and time. Takes the arguments of `tokenmill pack` and writes nothing. With --ranks N, "
        "also estimate what N ranks would need.",
    )
    _pack_options.add_inputs(parser)
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="the folder you will pass to `pack` (default: .)"
    )
    _pack_options.add_options(parser)
    _pack_options.add_run_options(parser)
    parser.add_argument(
        "--rate",
        type=float,
        metavar="MB/S",
        help="how much of the stored input one worker reads per second (default: measured on the "
        "sample, on this machine)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from tokenmill._calls.threads import available
    from tokenmill._mill.estimate import estimate  # imports numpy
    from tokenmill._mill.output.open_work import open_work

    given = [f"--{name.replace('_', '-')}" for name in _OF_RUNS if getattr(options, name)]
    if given:
        print_note(note("ignored", f"{', '.join(given)}: no effect on a plan"))
    call = read_call(options)
    output = shown_output(call.run.output or ".")
    task = prepare(dataclasses.replace(call, run=dataclasses.replace(call.run, output=output)))
    workers = call.run.workers or available()
    guess = estimate(task, open_work(output, call.run.work), workers)
    if options.rate is not None:
        guess = _at_rate(options, guess, workers)
    shared = None if call.run.ranks is None else _shared(call, task, guess, workers)
    if options.json:
        facts = {"plan_id": task.plan.id, **dataclasses.asdict(guess)}
        if shared is not None:
            facts["ranks"] = {**dataclasses.asdict(shared), "skew": shared.skew}
        sys.stdout.write(json.dumps(facts) + "\n")
        return
    text = _text(guess) if shared is None else f"{_text(guess)}\n{_ranks_text(shared, workers)}"
    sys.stdout.write(f"{_summary.opening(task, output)}\n{text}\n")


def _at_rate(options: argparse.Namespace, guess: Estimate, workers: int) -> Estimate:
    if not options.rate > 0:
        options.parser.error(f"--rate: expected MB/s above 0, got {options.rate:g}")
    seconds = guess.input_bytes / (options.rate * _MEGA * workers)
    return dataclasses.replace(guess, seconds=seconds)


def _shared(call: PackCall, task: Task, guess: Estimate, workers: int) -> Forecast:
    from tokenmill._checks import whole_number
    from tokenmill._mill.ranks.forecast import Load, forecast

    rate = guess.input_bytes / max(guess.seconds * workers, 1e-9)
    load = Load(rate, guess.tokens, guess.work_bytes, guess.output_bytes)
    ranks = whole_number("ranks", call.run.ranks)
    return forecast(task.plan, load, ranks, workers, call.run.lease)


def _ranks_text(shared: Forecast, workers: int) -> str:
    packing = duration(shared.seconds - shared.tokenize_seconds)
    busiest = f"{duration(shared.busy_most)}, the average {duration(shared.busy_mean)}"
    return "\n".join(
        [
            "",
            line("ranks", f"{shared.ranks:,}", f"with {counted(workers, 'worker')} each"),
            line("time", duration(shared.seconds), f"estimated, {packing} of it after tokenizing"),
            line("skew", f"{shared.skew:.0%}", f"the busiest rank works {busiest}"),
            line("moved", size(shared.read_bytes), "read by all ranks, including parts"),
            line("", size(shared.written_bytes), "written"),
            line("requests", f"{shared.requests:,}", "for claims and heartbeats"),
            line("", f"{shared.listed_names:,}", "names listed; a store lists 1,000 per request"),
            line("retry", duration(shared.lost_seconds), "of work is lost at most if a rank dies"),
            line("", duration(shared.noticed_seconds), "until the others consider it dead"),
        ]
    )


def _text(guess: Estimate) -> str:
    # Shards are removed from the disk when a store has them.
    need = guess.work_bytes + (0 if guess.put_requests else guess.output_bytes)
    enough = "enough" if guess.free_bytes > need else "NOT ENOUGH"
    bad = f"{guess.bad_share:.2%}"
    return "\n".join(
        [
            line("streams", f"{guess.streams:,}", f"in {counted(guess.files, 'file')}"),
            line("documents", f"{guess.documents:,}", f"estimated; {bad} of the records are bad"),
            line("tokens", f"{guess.tokens:,}", "estimated"),
            *_room(guess),
            line("", size(guess.free_bytes), f"free: {enough}"),
            line("time", duration(guess.seconds), "estimated"),
            line("sample", size(guess.sample_bytes), "were tokenized for this estimate"),
        ]
    )


def _room(guess: Estimate) -> list[str]:
    """Say what the output needs, in a store or on the disk, and what the run needs."""
    if guess.put_requests:
        return [
            line("store", size(guess.output_bytes), "for the output"),
            line("", f"{guess.put_requests:,}", "requests to write it"),
            line("disk", size(guess.work_bytes), "during the run, and a few shards"),
        ]
    return [
        line("disk", size(guess.output_bytes), "for the output"),
        line("", f"+{size(guess.work_bytes)}", "during the run"),
    ]

"""A run of the mill from the command line: what it will do, the run, and Ctrl-C."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _summary
from tokenmill._cli._options import load
from tokenmill._cli._process import end_start

if TYPE_CHECKING:
    import argparse

    from tokenmill._mill.pack import PackResult
    from tokenmill._mill.plan.task import Task


@dataclass(frozen=True)
class RunOptions:
    """How a task runs, and where its output goes. Nothing here changes a byte of it."""

    output: str
    workers: int | None = None
    memory_limit: int | str | None = None
    max_bad: int | float | str | None = None
    force: bool = False
    progress: str = "auto"
    device: str | None = None
    read_ahead: int = 0
    metrics: str | None = None
    otlp: str | None = None
    rank: int | str | None = None
    ranks: int | None = None
    lease: float | None = None
    engine: str | None = None
    address: str | None = None
    work: str | None = None


@dataclass(frozen=True)
class PackCall:
    """A call of `tokenmill.pack`: what is read, by which tokenizer, to which rows, and how."""

    inputs: Any
    tokenizer: object
    keywords: dict[str, Any]  # those that decide the bytes
    run: RunOptions


def prepare(call: PackCall) -> Task:
    """Find the inputs, load the tokenizer and make the plan."""
    from tokenmill._mill.plan.task import prepare_task  # imports numpy

    return prepare_task(
        call.inputs,
        tokenizer=call.tokenizer,
        memory_limit=call.run.memory_limit,
        output=call.run.output,
        **call.keywords,
    )


def run_call(
    call: PackCall, *, quiet: bool, start: float | None = None
) -> tuple[PackResult, float]:
    """Run a call; return its result and the seconds since `start`. Prints first what was chosen."""
    from tokenmill._mill.pack import pack_task  # imports numpy

    start = time.perf_counter() if start is None else start
    task = prepare(call)
    if not quiet:
        print_note(_summary.opening(task, shown_output(call.run.output)))
    end_start()
    try:
        result = pack_task(task, **asdict(call.run))
    except KeyboardInterrupt:
        # Input from stdin or the network cannot be read from its middle.
        resumes = all(stream.resumable for stream in task.plan.streams)
        again = "resumes from here" if resumes else "starts again from the beginning"
        print_note(f"\ntokenmill: stopped; the same command {again}")
        raise
    return result, time.perf_counter() - start


def shown_output(output: str) -> str:
    """Return an output as it is printed: an address as it is, a folder without a last slash."""
    from tokenmill._store import is_address

    return output if is_address(output) else str(Path(output))


def tokenizer_of(options: argparse.Namespace) -> object:
    """Return what `tokenmill.pack` loads, or the tokenizer itself if it takes a pattern."""
    # A path is worth more than what was loaded from it: the files next to it name EOS and BOS.
    return options.tokenizer if options.pattern is None else load(options)


def run_options(options: argparse.Namespace, **more: Any) -> RunOptions:
    """Return how the command line wants a task to run."""
    return RunOptions(
        output=options.output,
        workers=options.workers,
        memory_limit=options.memory_limit,
        max_bad=options.max_bad,
        force=bool(options.force),
        progress="none" if options.quiet else options.progress or "auto",
        metrics=options.metrics,
        otlp=options.otlp,
        **more,
    )


def print_note(text: str) -> None:
    """Print for people, not for programs: on stderr."""
    sys.stderr.write(text + "\n")

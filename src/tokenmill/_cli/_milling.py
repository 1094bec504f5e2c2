"""A task of the mill from the command line: what it will do, the run, what Ctrl-C means."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _summary

if TYPE_CHECKING:
    import argparse

    from tokenmill._mill.pack import PackResult
    from tokenmill._mill.plan.task import Task


def run_task(
    task: Task,
    options: argparse.Namespace,
    *,
    quiet: bool,
    **keywords: Any,  # those of pack_task
) -> PackResult:
    """Run a task towards the output of the options; say before what was chosen."""
    from tokenmill._mill.pack import pack_task  # imports numpy

    if not quiet:
        say(_summary.opening(task, Path(options.output)))
    try:
        return pack_task(
            task,
            output=options.output,
            memory_limit=options.memory_limit,
            max_bad=options.max_bad,
            force=bool(options.force),
            **keywords,
        )
    except KeyboardInterrupt:
        # What comes from stdin or over the net cannot be read from its middle.
        resumes = all(stream.resumable for stream in task.plan.streams)
        again = "goes on from here" if resumes else "begins anew"
        say(f"\ntokenmill: stopped; the same command {again}")
        raise


def say(text: str) -> None:
    """Tell people, not programs: on stderr."""
    sys.stderr.write(text + "\n")

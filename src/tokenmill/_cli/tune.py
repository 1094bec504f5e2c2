"""`tokenmill tune`: the settings that are fastest on this machine and these files, or none."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench.progress import progress
from tokenmill._cli._tune_table import tune_lines
from tokenmill._errors import OptionError, OutputError

if TYPE_CHECKING:
    import argparse

    from tokenmill._machine.facts import MachineFacts
    from tokenmill._tune.sample import FileSample
    from tokenmill._tune.tune import TuneReport

_EPILOG = """\
examples:
  tokenmill tune 'data/*.jsonl.zst' -t llama3/tokenizer.json -o tokenmill.toml
  tokenmill pack 'data/*.jsonl.zst' -t llama3/tokenizer.json -o packed/ --config tokenmill.toml

Trials pack a sample of the files in fresh processes. The best setting is compared with the defaults
in new runs, and written only if it is faster by more than the noise. It never changes an id or a
byte of an output.
exit status: 0 also if the defaults are best; then nothing is written.
"""
_BUSY = 0.5  # of the CPUs
_PASSED_ON = ("field", "text_mode", "format", "context_length")


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "tune",
        usage="%(prog)s [OPTIONS] INPUT ...",
        help="find the fastest settings for this machine and your files",
        description="Find the fastest threads, block size, table size and device for `pack` on a "
        "sample of your own files, with Optuna's TPE sampler (extra `tune`).",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="files, globs or folders that `pack` can read"
    )
    _options.add_tokenizer(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE",
        help="write the settings here, e.g. tokenmill.toml (default: only show them)",
    )  # fmt: skip
    _add_rows(parser.add_argument_group("what is packed"))
    _add_search(parser.add_argument_group("the search"))
    _options.add_json(parser)
    parser.set_defaults(run=_run)


def _add_rows(group: argparse._ArgumentGroup) -> None:
    _options.add_fields(group)
    group.add_argument(
        "--format", metavar="NAME[,NAME]", help="format of the shards (default: bin)"
    )
    group.add_argument(
        "--context-length", type=_options.positive, default=2048, metavar="N",
        help="tokens per row (default: 2048)",
    )  # fmt: skip


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--trials", type=_options.positive, default=30, metavar="N",
        help="runs of the search; the comparison takes up to 32 more (default: 30)",
    )  # fmt: skip
    group.add_argument(
        "--time", type=_options.positive, default=120, metavar="S",
        help="start no new run of the search after this many seconds (default: 120)",
    )  # fmt: skip
    group.add_argument(
        "--sample", default="256MB", metavar="SIZE",
        help="how much text each run packs (default: 256MB)",
    )  # fmt: skip
    group.add_argument(
        "--work", metavar="FOLDER", help="where the sample and the outputs go, best on the disk "
        "that you will pack to (default: the folder of -o, or this one)",
    )  # fmt: skip


def _run(options: argparse.Namespace) -> None:
    from tokenmill._config import VARIABLE
    from tokenmill._machine.facts import describe_machine
    from tokenmill._mill.plan.memory import parse_size  # imports numpy
    from tokenmill._tune.search import SearchBudget, import_optuna
    from tokenmill._tune.space import space_of
    from tokenmill._tune.trial import TrialRunner
    from tokenmill._tune.tune import tune

    import_optuna()
    os.environ.pop(VARIABLE, None)  # the defaults are those without a file
    target = _target(options)
    machine = describe_machine()
    _warn_of_noise(machine.cpu.threads)
    budget = SearchBudget(options.trials, options.time)
    with TemporaryDirectory(prefix=".tokenmill-tune-", dir=_work(options)) as name:
        sample = _sample(options, parse_size(options.sample, "sample"), Path(name))
        with progress() as show:
            runner = TrialRunner([*sample.paths, *_arguments(options)], Path(name), show)
            report = tune(space_of(machine), runner, budget)
    _show(options, report, sample)
    if report.changes and target is not None:
        _write(target, report, machine)
        _say(f"wrote {target}; use it with --config {target} or TOKENMILL_CONFIG={target}")
    elif target is not None:
        _say(f"{target} was not written: the defaults are right here")


def _warn_of_noise(threads: int) -> None:
    from tokenmill._platform.cpus import load_average  # not for --help

    load = load_average()
    if load is not None and load > _BUSY * threads:
        _say(
            f"tokenmill: this machine is busy (load average {load:.1f} on {threads} CPUs): "
            "gains will be lost in the noise"
        )


def _target(options: argparse.Namespace) -> Path | None:
    """Return the file to write; refuse it now if it cannot be, not after minutes."""
    if options.output is None:
        return None
    path = Path(options.output)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise OptionError(f"expected a file in a folder that exists, got {path}", where="--output")
    return path


def _work(options: argparse.Namespace) -> str:
    if options.work is not None:
        Path(options.work).mkdir(parents=True, exist_ok=True)
        return str(options.work)
    return str(Path(options.output).parent) if options.output else "."


def _sample(options: argparse.Namespace, size: int, folder: Path) -> FileSample:
    from tokenmill._read import find_inputs
    from tokenmill._tune.sample import take_sample

    return take_sample(find_inputs(options.inputs).files, size, folder)


def _arguments(options: argparse.Namespace) -> list[str]:
    """Return what every trial passes to `pack`."""
    given = {"tokenizer": options.tokenizer, "pattern": options.pattern}
    given |= {name: getattr(options, name) for name in _PASSED_ON}
    return _options.as_arguments(given)


def _show(options: argparse.Namespace, report: TuneReport, sample: FileSample) -> None:
    if options.json:
        sys.stdout.write(json.dumps(report.as_json()) + "\n")
    else:
        sys.stdout.write("\n".join(tune_lines(report, sample)) + "\n")


def _write(target: Path, report: TuneReport, machine: MachineFacts) -> None:
    from tokenmill._tune.tune import configuration_text

    found = report.confirmation
    if found is None:
        return
    command = shlex.join(["tokenmill", *sys.argv[1:]])
    text = configuration_text(report.changes, found.ratio, machine, command)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(str(error.strerror), path=str(target)) from error


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")

"""`tokenmill bench targets`: whether this machine keeps the limits of a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    import argparse

    from tokenmill._bench.targets import Profile

_PROFILES = ("training", "inference", "realtime", "edge")
_EPILOG = """\
limits (TOML), a table for each profile, with a known name or a new one:
  [realtime]
  tokens_per_second = 1_000_000   # at least
  batch_ms = 0.5                  # below, p95 of 32 texts of 500 bytes
  single_ms = 0.1                 # below, p95 of one text of 100 bytes
  memory_mb = 256                 # below, peak of the process
Further limits: batch_p99_ms, single_p99_ms, load_ms. How the process is set up:
tables = "usual|small|tiny" and threads = N.

exit status: 0 all limits are met, 1 one is missed, 2 the command is wrong.
"""


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "targets",
        usage="%(prog)s [--profile NAME] [--limits FILE] [OPTIONS]",
        help="limits of speed, latency and memory: met or missed",
        description="Measure what the profiles training, inference, realtime and edge promise, or "
        "what a file asks for, and compare each figure with its limit.",
        epilog=_EPILOG,
    )
    _options.add_tokenizer(parser)
    parser.add_argument(
        "--profile", action="append", metavar="NAME",
        help="training, inference, realtime, edge, or a name in the file; repeatable (default: all "
        "in the file, else these four)",
    )  # fmt: skip
    parser.add_argument("--limits", metavar="FILE", help="a TOML file with your own limits")
    shared.add_measuring(parser, rounds=5, seconds=8)
    shared.add_outputs(parser, compare=False)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.targets import check_profiles  # imports numpy
    from tokenmill._cli._bench.table import foot_lines, head_lines, target_lines

    check_outputs(options)
    profiles = _profiles(options)
    with progress() as show:
        report, checks = check_profiles(shared.request_of(options), profiles, show)
    table = [*head_lines(report), "", *target_lines(checks), "", *foot_lines(report)]
    return end(options, report, None, checks=checks, table=table)


def _profiles(options: argparse.Namespace) -> list[Profile]:
    from tokenmill._bench.targets import PROFILES, read_limits

    known = dict(PROFILES)
    chosen = list(PROFILES)
    if options.limits is not None:
        own = {profile.name: profile for profile in read_limits(options.limits)}
        known, chosen = known | own, list(own)
    names = options.profile or chosen
    for name in names:
        if name not in known:
            raise OptionError(
                f"expected one of {', '.join(known)}, got {name!r}", where="--profile"
            )
    return [known[name] for name in names]

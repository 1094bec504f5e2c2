"""`tokenmill bench latency`: how long one call takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress

if TYPE_CHECKING:
    import argparse

_SCENARIOS = (
    "sentence", "chat turn", "batch", "long document", "code", "Chinese", "agent trace",
    "growing chat", "one letter", "decode streams",
)  # fmt: skip
_SIZES = (1_000, 10_000, 100_000, 1_000_000, 5_000_000)
_QUICK_SIZES = (1_000, 100_000)


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "latency",
        usage="%(prog)s [OPTIONS]",
        help="one call at a time: sentence, chat turn, batch, long document, code, ...",
        description="Time single calls, scenario by scenario, on texts of 1 KB to 5 MB that come "
        "with the package. The ids of growing chats and decoding streams are first compared with "
        "those of the plain call.",
    )
    _options.add_tokenizer(parser)
    parser.add_argument(
        "--scenarios", type=shared.names_of(_SCENARIOS), default=_SCENARIOS, metavar="NAME[,NAME]",
        help="any of " + ", ".join(_SCENARIOS) + " (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--sizes", type=shared.sizes_of, metavar="SIZE[,SIZE]",
        help="sizes of long document, code, Chinese, agent trace and one letter (default: "
        "1KB,10KB,100KB,1MB,5MB)",
    )  # fmt: skip
    shared.add_python(parser)
    shared.add_measuring(parser, rounds=7, seconds=40)
    shared.add_outputs(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.latency import measure_latency  # imports numpy

    old = check_outputs(options)
    sizes = options.sizes or (_QUICK_SIZES if options.quick else _SIZES)
    with progress() as show:
        reports = measure_latency(shared.request_of(options), options.scenarios, sizes, show)
    return end(options, reports[0], old or (reports[1] if len(reports) > 1 else None))

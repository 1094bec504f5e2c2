"""`tokenmill bench pack`: a whole job, stage by stage."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress

if TYPE_CHECKING:
    import argparse


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "pack",
        usage="%(prog)s [OPTIONS] INPUT ...",
        help="a whole `tokenmill pack`, stage by stage",
        description="Run `tokenmill pack` on the inputs in fresh processes, from start to exit, "
        "and report where the time goes. All runs must write the same bytes; the outputs are "
        "removed afterwards.",
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="file, folder or glob, as for `pack`"
    )
    _options.add_tokenizer(parser)
    parser.add_argument(
        "--context-length", type=_options.positive, default=2048, metavar="N",
        help="tokens per row (default: 2048)",
    )  # fmt: skip
    parser.add_argument(
        "--pack-options", default="", metavar="TEXT",
        help="more options of `pack`, written after =: --pack-options='--pack bestfit'",
    )  # fmt: skip
    parser.add_argument(
        "--folder", metavar="FOLDER",
        help="where the outputs go until they are removed (default: the system's temporary folder)",
    )  # fmt: skip
    shared.add_measuring(parser, rounds=7, seconds=None)
    shared.add_outputs(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.pack_job import PackRequest, measure_pack  # imports numpy

    old = check_outputs(options)
    common = shared.request_of(options)
    more = ["--context-length", str(options.context_length), *shlex.split(options.pack_options)]
    request = PackRequest(
        options.inputs, common.tokenizer, common.pattern, common.rounds, common.threads, more,
        options.folder,
    )  # fmt: skip
    with progress() as show:
        report = measure_pack(request, show)
    return end(options, report, old)

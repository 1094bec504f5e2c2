"""`tokenmill bench throughput`: many texts at once, by threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress

if TYPE_CHECKING:
    import argparse

_TEXTS = ("english", "code", "chinese")
_SIZE, _QUICK_SIZE = 8_000_000, 2_000_000


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "throughput",
        usage="%(prog)s [OPTIONS]",
        help="many texts at once, by threads, first pass and later ones",
        description="Encode many documents in one call, with one thread and with more. Cold is the "
        "first pass in a fresh process, warm is a later pass over the same texts.",
    )
    _options.add_tokenizer(parser)
    shared.add_texts(parser)
    parser.add_argument(
        "--texts", type=shared.names_of(_TEXTS), default=_TEXTS, metavar="NAME[,NAME]",
        help="texts of the package: english, code, chinese (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--size", type=shared.size_of, metavar="SIZE",
        help="size of each of these texts, in documents of 3 KB (default: 8MB)",
    )  # fmt: skip
    parser.add_argument(
        "--thread-counts", type=shared.numbers_of, metavar="N[,N]",
        help="numbers of threads to measure (default: 1, 2, 4, ... up to --threads)",
    )  # fmt: skip
    shared.add_python(parser)
    shared.add_measuring(parser, rounds=7, seconds=30)
    shared.add_outputs(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.throughput import (  # imports numpy
        made_texts,
        measure_throughput,
        thread_steps,
    )

    old = check_outputs(options)
    request = shared.request_of(options)
    if options.input is None:
        size = options.size or (_QUICK_SIZE if options.quick else _SIZE)
        texts = made_texts(options.texts, size)
    else:
        texts = {"input": shared.own_texts(options).texts}
    steps = options.thread_counts or thread_steps(request.threads)
    with progress() as show:
        reports = measure_throughput(request, texts, steps, show)
    return end(options, reports[0], old or (reports[1] if len(reports) > 1 else None))

"""`tokenmill bench gpu`: a CUDA device, by every way in and out."""

from __future__ import annotations

import argparse

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress

_BATCH, _QUICK_BATCH = 256_000_000, 32_000_000
_SIZES = (1_000, 10_000, 100_000, 1_000_000, 5_000_000)


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "gpu",
        usage="%(prog)s [OPTIONS]",
        help="a CUDA device: a batch on the device, from host to host, single requests",
        description="Time a CUDA device on a batch in its memory, on the same batch from host "
        "memory to host memory, and on single requests. All ids are compared with those of the "
        "CPU. The exit status is 1 if there is no device.",
    )
    _options.add_tokenizer(parser)
    parser.add_argument(
        "--device", type=_number, default=0, metavar="N", help="number of the device (default: 0)"
    )
    parser.add_argument(
        "--size", type=shared.size_of, metavar="SIZE",
        help="size of the batch, in documents of 3 KB (default: 256MB; with --quick 32MB)",
    )  # fmt: skip
    parser.add_argument(
        "--sizes", type=shared.sizes_of, default=_SIZES, metavar="SIZE[,SIZE]",
        help="sizes of single requests (default: 1KB,10KB,100KB,1MB,5MB)",
    )  # fmt: skip
    shared.add_measuring(parser, rounds=5, seconds=40)
    shared.add_outputs(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.gpu import measure_gpu  # imports numpy

    old = check_outputs(options)
    request = shared.request_of(options)
    size = options.size or (_QUICK_BATCH if options.quick else _BATCH)
    with progress() as show:
        report = measure_gpu(request, options.device, size, options.sizes, show)
    return end(options, report, old)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected the number of a device, got {text!r}")
    return int(text)

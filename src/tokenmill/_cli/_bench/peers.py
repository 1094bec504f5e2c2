"""`tokenmill bench peers`: other tokenizer libraries on the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress

if TYPE_CHECKING:
    import argparse

_PEERS = ("tokenmill", "gigatoken", "tokenizers", "tiktoken", "tokie", "fastokens")
_SIZE, _QUICK_SIZE = 4_000_000, 500_000


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "peers",
        usage="%(prog)s [OPTIONS]",
        help="other tokenizer libraries that are installed, on the same text",
        description="Encode the same documents in one call with tokenmill and with each of "
        "gigatoken, tokenizers, tiktoken, tokie and fastokens that is installed. Fresh processes "
        "run in turn. A library with other ids is named, but not timed.",
    )
    _options.add_tokenizer(parser)
    shared.add_texts(parser)
    parser.add_argument(
        "--text", choices=("english", "code", "chinese"), default="english",
        help="text of the package (default: english)",
    )  # fmt: skip
    parser.add_argument(
        "--size", type=shared.size_of, metavar="SIZE",
        help="size of this text, in documents of 3 KB (default: 4MB)",
    )  # fmt: skip
    parser.add_argument(
        "--only", type=shared.names_of(_PEERS), default=_PEERS, metavar="NAME[,NAME]",
        help="any of " + ", ".join(_PEERS) + " (default: all that are installed)",
    )  # fmt: skip
    shared.add_measuring(parser, rounds=7, seconds=60)
    shared.add_outputs(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.peer_rounds import measure_peers  # imports numpy
    from tokenmill._bench.throughput import made_texts

    old = check_outputs(options)
    if options.input is None:
        size = options.size or (_QUICK_SIZE if options.quick else _SIZE)
        texts = made_texts([options.text], size)[options.text]
    else:
        texts = shared.own_texts(options).texts
    with progress() as show:
        report = measure_peers(shared.request_of(options), texts, options.only, show)
    return end(options, report, old)

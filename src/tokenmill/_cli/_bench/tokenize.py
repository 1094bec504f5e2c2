"""`tokenmill bench tokenize`: how long tokenizer libraries take on this machine and this text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._bench import options as shared
from tokenmill._cli._bench.ending import check_outputs, end
from tokenmill._cli._bench.progress import progress
from tokenmill._errors import OptionError

if TYPE_CHECKING:
    import argparse

    from tokenmill._bench.documents import SampleTexts

_LIBRARIES = ("slow", "fast", "native")
_BATCH_SIZES = (1, 32, 64, 100, 1000)


def register(kinds: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = kinds.add_parser(
        "tokenize",
        usage="%(prog)s [OPTIONS]",
        help="slow, fast and native tokenizers, one document at a time and in batches",
        description="Encode the same documents with the slow Python tokenizer of transformers "
        "(if there is one), with Hugging Face's fast one and with tokenmill's own. Every row runs "
        "in a fresh process, and no time is shown unless all ids are equal.",
    )
    _options.add_tokenizer(parser)
    shared.add_texts(parser, documents=1000, default="made of the package's vocabulary")
    _add_measuring(parser)
    _add_output(parser)
    parser.set_defaults(run=_run)


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--batch-sizes", type=shared.numbers_of, default=_BATCH_SIZES, metavar="N[,N]",
        help="documents per call (default: 1,32,64,100,1000)",
    )  # fmt: skip
    parser.add_argument(
        "--only", type=shared.names_of(_LIBRARIES), default=_LIBRARIES, metavar="NAME[,NAME]",
        help="any of slow, fast, native (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--repeat", type=_options.positive, default=3, metavar="N",
        help="fresh processes for each row; the median is shown (default: 3)",
    )  # fmt: skip
    _options.add_threads(parser)
    parser.add_argument(
        "--against", metavar="NAME/N",
        help="the row that speedups compare with, e.g. fast/1 (default: the slowest)",
    )  # fmt: skip


def _add_output(parser: argparse.ArgumentParser) -> None:
    shared.add_outputs(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a chart (needs matplotlib)")


def _run(options: argparse.Namespace) -> int:
    from tokenmill._bench.plot import check_plot, draw  # numpy
    from tokenmill._bench.processes import Request, measure  # numpy
    from tokenmill._bench.tokenize_report import tokenize_report
    from tokenmill._calls.options import thread_count
    from tokenmill._cli._bench import tokenize_table

    _check_against(options)
    old = check_outputs(options)
    if options.plot is not None:
        check_plot()
    request = Request(
        options.tokenizer, options.pattern, options.batch_sizes, options.repeat,
        thread_count(options.threads), options.only,
    )  # fmt: skip
    documents = _documents(options)
    with progress() as show:
        result = measure(request, documents.texts, show)
    table = tokenize_table.lines(result, documents, options.against)
    if options.plot is not None and result.rows:
        draw(result, tokenize_table.title(result, documents), options.plot)
    return end(options, tokenize_report(result, documents, request), old, table=table)


def _check_against(options: argparse.Namespace) -> None:
    """Refuse a wrong row now, not after minutes of measuring."""
    names = [f"{name}/{size}" for name in options.only for size in options.batch_sizes]
    if options.against is not None and options.against not in names:
        raise OptionError(
            f"expected a row, got {options.against!r}",
            where="--against",
            hint="one of " + ", ".join(names),
        )


def _documents(options: argparse.Namespace) -> SampleTexts:
    from tokenmill._bench.documents import make_documents  # imports numpy

    return make_documents(options.num_docs) if options.input is None else shared.own_texts(options)

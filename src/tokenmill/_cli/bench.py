"""`tokenmill bench tokenize`: how long tokenizer libraries take on this machine and this text."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenmill import __version__
from tokenmill._cli import _options
from tokenmill._errors import OptionError, OutputError

if TYPE_CHECKING:
    from tokenmill._bench.documents import SampleTexts
    from tokenmill._bench.result import Result

_LIBRARIES = ("slow", "fast", "native")
_BATCH_SIZES = (1, 32, 64, 100, 1000)
_STDOUT = "-"


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    bench = commands.add_parser(
        "bench",
        usage="%(prog)s [tokenize] [OPTIONS]",
        help="compare tokenizer libraries on this machine",
        description="Measure on this machine, with your own text if you like. Without a command, "
        "`tokenize` runs.",
        default_command="tokenize",
    )
    kinds = bench.add_subparsers(
        title="what to measure", metavar="WHAT", prog=bench.prog, required=True
    )
    parser = kinds.add_parser(
        "tokenize",
        usage="%(prog)s [OPTIONS]",
        help="slow, fast and native tokenizers, one document at a time and in batches",
        description="Encode the same documents with the slow Python tokenizer of transformers "
        "(if there is one), with Hugging Face's fast one and with tokenmill's own. Every row runs "
        "in a fresh process, and no time is shown unless all ids are equal.",
    )
    _add_input(parser)
    _add_measuring(parser)
    _add_output(parser)
    parser.set_defaults(run=_run)


def _add_input(parser: argparse.ArgumentParser) -> None:
    _options.add_tokenizer(parser)
    parser.add_argument(
        "-i", "--input", action="append", metavar="PATH",
        help="file, folder or glob that `pack` can read; repeatable (default: text made of the "
        "package's vocabulary)",
    )  # fmt: skip
    parser.add_argument("--field", metavar="NAME", help="the text field (default: detected)")
    parser.add_argument(
        "--text-mode", default="file", metavar="file|line|SEPARATOR",
        help="a document of plain text is a file, a line, or what is between separators "
        "(default: file)",
    )  # fmt: skip
    parser.add_argument(
        "--num-docs",
        type=_options.positive,
        default=1000,
        metavar="N",
        help="how many documents (default: 1000)",
    )


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--batch-sizes", type=_sizes, default=_BATCH_SIZES, metavar="N[,N]",
        help="documents per call (default: 1,32,64,100,1000)",
    )  # fmt: skip
    parser.add_argument(
        "--only", type=_libraries, default=_LIBRARIES, metavar="NAME[,NAME]",
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
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write everything measured to FILE; - writes it to stdout, and the table to stderr",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a chart (needs matplotlib)")


def _run(options: argparse.Namespace) -> None:
    from tokenmill._bench.plot import check_plot, draw  # numpy
    from tokenmill._bench.processes import Request, measure  # numpy
    from tokenmill._calls.options import thread_count
    from tokenmill._cli import _bench_table

    _check_against(options)
    if options.plot is not None:
        check_plot()
    request = Request(
        options.tokenizer, options.pattern, options.batch_sizes, options.repeat,
        thread_count(options.threads), options.only,
    )  # fmt: skip
    documents = _documents(options)
    with _bench_table.progress() as show:
        result = measure(request, documents.texts, show)
    table = _bench_table.lines(result, documents, options.against)
    shown = sys.stderr if options.json == _STDOUT else sys.stdout
    shown.write("\n".join(table) + "\n")
    if options.json is not None:
        _write_json(options.json, _facts(result, documents, options))
    if options.plot is not None and result.rows:
        draw(result, _bench_table.title(result, documents), options.plot)


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
    from tokenmill._bench.documents import make_documents, read_documents  # imports numpy
    from tokenmill._read import ReadRules

    if options.input is None:
        return make_documents(options.num_docs)
    rules = ReadRules(field=options.field, text_mode=options.text_mode)
    return read_documents(options.input, options.num_docs, rules)


def _facts(result: Result, documents: SampleTexts, options: argparse.Namespace) -> dict[str, Any]:
    from tokenmill._bench.result import describe_machine  # imports numpy

    return {
        "kind": "tokenize",
        "date": datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        "tokenmill": __version__,
        "machine": describe_machine(),
        "load_average": result.load_average,
        "threads": result.threads,
        "tokenizer": options.tokenizer or "builtin",
        "input": {
            "origin": documents.origin,
            "documents": len(documents.texts),
            "bytes": documents.size_bytes,
            "skipped": dict(documents.skipped),
        },
        "not_measured": result.not_measured,
        "rows": [asdict(row) for row in result.rows],
    }


def _write_json(name: str, facts: dict[str, Any]) -> None:
    text = json.dumps(facts, indent=1) + "\n"
    if name == _STDOUT:
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(str(error.strerror), path=name) from error


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_options.positive(part.strip()) for part in text.split(",")))


def _libraries(text: str) -> tuple[str, ...]:
    names = [part.strip() for part in text.split(",")]
    for name in names:
        if name not in _LIBRARIES:
            known = ", ".join(_LIBRARIES)
            raise argparse.ArgumentTypeError(f"expected any of {known}, got {name!r}")
    return tuple(name for name in _LIBRARIES if name in names)

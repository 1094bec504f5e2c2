"""Options that several kinds of bench share."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from tokenmill._cli import _options

if TYPE_CHECKING:
    from tokenmill._bench.documents import SampleTexts
    from tokenmill._bench.rounds import CallRequest

QUICK_SECONDS, QUICK_ROUNDS = 5.0, 3
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "kb": 1_000, "mb": 1_000_000, "gb": 1_000_000_000}


def add_measuring(parser: argparse.ArgumentParser, *, rounds: int, seconds: float | None) -> None:
    """Add how long and how often to measure."""
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "--repeat", type=_options.positive, metavar="N",
        help=f"fresh processes for each row (default: {rounds})",
    )  # fmt: skip
    if seconds is not None:
        group.add_argument(
            "--seconds", type=_options.positive_seconds, metavar="S",
            help=f"about how long to measure, all rows together (default: {seconds:g})",
        )  # fmt: skip
    group.add_argument(
        "--quick", action="store_true", help="a first look: few processes, wide intervals"
    )
    _options.add_threads(group)
    parser.set_defaults(default_repeat=rounds, default_seconds=seconds)


def add_python(parser: argparse.ArgumentParser) -> None:
    """Add another installation that is measured in turn."""
    parser.add_argument(
        "--baseline", metavar="PYTHON",
        help="the python of an environment with another tokenmill: measure both in turn and "
        "compare them; on a busy machine this is better than --compare",
    )  # fmt: skip


def request_of(options: argparse.Namespace) -> CallRequest:
    """Return how rows are measured, as the options say."""
    from tokenmill._bench.rounds import CallRequest  # imports numpy
    from tokenmill._calls.options import thread_count

    seconds = getattr(options, "seconds", None)
    quick = options.quick
    return CallRequest(
        options.tokenizer,
        options.pattern,
        options.repeat or (QUICK_ROUNDS if quick else options.default_repeat),
        thread_count(options.threads),
        seconds or (QUICK_SECONDS if quick else options.default_seconds or 0.0),
        python=getattr(options, "baseline", None),
    )


def add_outputs(parser: argparse.ArgumentParser, *, compare: bool = True) -> None:
    """Add where results go, and what they are compared with."""
    group = parser.add_argument_group("results")
    group.add_argument(
        "--json", metavar="FILE",
        help="write everything measured to FILE; - writes it to stdout, and the table to stderr",
    )  # fmt: skip
    group.add_argument("--html", metavar="FILE", help="write one page with charts, for any browser")
    if compare:
        group.add_argument(
            "--compare", metavar="OLD.json",
            help="compare with an earlier result: better, worse or not distinguishable; exit "
            "status 1 if worse",
        )  # fmt: skip


def add_texts(
    parser: argparse.ArgumentParser,
    *,
    documents: int = 10_000,
    default: str = "texts of the package",
) -> None:
    """Add the user's own texts."""
    group = parser.add_argument_group("texts")
    group.add_argument(
        "-i", "--input", action="append", metavar="PATH",
        help=f"file, folder or glob that `pack` can read; repeatable (default: {default})",
    )  # fmt: skip
    group.add_argument("--field", metavar="NAME", help="the text field (default: detected)")
    group.add_argument(
        "--text-mode", default="file", metavar="file|line|SEPARATOR",
        help="what one document of plain text is: a whole file, a line, or the text between "
        "separators (default: file)",
    )  # fmt: skip
    group.add_argument(
        "--num-docs", type=_options.positive, default=documents, metavar="N",
        help=f"how many documents at most (default: {documents})",
    )  # fmt: skip


def own_texts(options: argparse.Namespace) -> SampleTexts:
    """Read the documents of --input."""
    from tokenmill._bench.documents import read_documents  # imports numpy
    from tokenmill._read import ReadRules

    rules = ReadRules(field=options.field, text_mode=options.text_mode)
    return read_documents(options.input, options.num_docs, rules)


def size_of(text: str) -> int:
    """Read a number of bytes: "10KB" -> 10000."""
    match = _SIZE.fullmatch(text.strip())
    count = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected a size such as 10KB or 5MB, got {text!r}")
    return int(count)


def sizes_of(text: str) -> tuple[int, ...]:
    """Read sizes with commas between them."""
    return tuple(dict.fromkeys(size_of(part) for part in text.split(",")))


def numbers_of(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between them."""
    return tuple(dict.fromkeys(_options.positive(part.strip()) for part in text.split(",")))


def names_of(known: tuple[str, ...]) -> Any:
    """Return a function that reads some of the known names, in their order."""

    def read(text: str) -> tuple[str, ...]:
        names = [part.strip().replace("-", " ").lower() for part in text.split(",")]
        spelled = {name.lower(): name for name in known}
        for name in names:
            if name not in spelled:
                choices = ", ".join(known)
                raise argparse.ArgumentTypeError(f"expected any of {choices}, got {name!r}")
        return tuple(name for name in known if name.lower() in names)

    return read

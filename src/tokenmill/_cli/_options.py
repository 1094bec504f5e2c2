"""What several commands share: options, inputs, and the tokenizer they name."""

from __future__ import annotations

import argparse
import contextlib
import mmap
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tokenmill._errors import EncodeError, InputError, TokenmillError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokenmill._cli._parser import CommandParser
    from tokenmill._tokenizer import Tokenizer

    # The class is public in all but name; argparse offers no other.
    Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001
    Input: TypeAlias = bytes | mmap.mmap

STDIN = "-"
PROGRESS = ("auto", "bar", "plain", "json", "none")
_THREADS = "threads (default: all CPUs that this process may use)"


def add_tokenizer(parser: argparse._ActionsContainer) -> None:
    """Add -t and --pattern."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="SOURCE",
        help="tokenizer.json or a folder with one, .tiktoken, tekken.json, .model, .mill, or a hub "
        "id (default: the built-in tokenizer)",
    )
    add_pattern(parser)


def add_tokenizer_source(parser: argparse.ArgumentParser) -> None:
    """Add -t for commands on outputs, whose manifest names the tokenizer."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="SOURCE",
        help="where the tokenizer is now (default: where it was when the output was packed)",
    )


def add_pattern(parser: argparse._ActionsContainer) -> None:
    """Add --pattern."""
    parser.add_argument(
        "--pattern",
        metavar="NAME|REGEX",
        help="how a .tiktoken file splits text into words, e.g. cl100k_base",
    )


def add_files(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the input files."""
    parser.add_argument(
        "files", nargs="*", default=[STDIN], metavar="FILE", help=f"{what} (default: -, stdin)"
    )


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Add how `encode` and `count` read texts."""
    parser.add_argument(
        "--documents",
        choices=["file", "line"],
        default="file",
        help="what one text is: a whole file, or each line without its newline (default: file)",
    )
    parser.add_argument(
        "--add-special-tokens",
        action="store_true",
        help="add the tokens that the tokenizer puts around a text, e.g. BOS",
    )
    parser.add_argument(
        "--special-in-text",
        choices=["encode", "text", "raise"],
        default="encode",
        help="the text of a special token becomes its id, stays text, or is an error "
        "(default: encode)",
    )
    parser.add_argument(
        "--errors",
        choices=["strict", "replace"],
        default="strict",
        help="bytes that are not UTF-8 are an error, or become U+FFFD (default: strict)",
    )
    add_threads(parser)


def add_threads(container: argparse._ActionsContainer) -> None:
    """Add --threads."""
    container.add_argument("--threads", type=positive, metavar="N", help=_THREADS)


def add_workers(container: argparse._ActionsContainer, *names: str) -> None:
    """Add the threads of the mill; other tools call them by other names."""
    names = names or ("--workers", "--num-workers", "--num-proc")
    container.add_argument(*names, dest="workers", type=positive, metavar="N", help=_THREADS)


def add_fields(container: argparse._ActionsContainer) -> None:
    """Add what finds the texts in files."""
    container.add_argument("--field", metavar="NAME", help="the text field (default: detected)")
    container.add_argument(
        "--text-mode",
        metavar="file|line|SEPARATOR",
        help="what one document of plain text is (default: file)",
    )


def add_config(container: argparse._ActionsContainer) -> None:
    """Add --config."""
    container.add_argument(
        "--config",
        metavar="FILE",
        help="settings for this machine, e.g. from `tokenmill tune`; options override them "
        "(default: $TOKENMILL_CONFIG)",
    )


def as_arguments(given: Mapping[str, object]) -> list[str]:
    """Return options as another command takes them, without those that are not given."""
    return [
        part
        for name, value in given.items()
        if value is not None
        for part in ("--" + name.replace("_", "-"), str(value))
    ]


def use_config(options: argparse.Namespace) -> None:
    """Let --config hold for this process and those that it starts; refuse a wrong file now."""
    from tokenmill._config import VARIABLE, configured

    if options.config is not None:
        os.environ[VARIABLE] = str(Path(options.config).absolute())
    configured()


def add_watching(container: argparse._ActionsContainer) -> None:
    """Add the options that show a run while it works."""
    container.add_argument(
        "--progress",
        choices=PROGRESS,
        help="a bar, plain lines, JSON lines or nothing; auto is a bar on a terminal and plain "
        "lines elsewhere (default: auto)",
    )
    container.add_argument(
        "--metrics",
        metavar="FILE",
        help="write metrics to this file every second, for Prometheus's node exporter, e.g. "
        "/var/lib/node_exporter/pack.prom",
    )
    container.add_argument(
        "--otlp",
        metavar="URL",
        help="send metrics to this OpenTelemetry collector, e.g. http://localhost:4318/v1/metrics "
        "(default: by OTEL_EXPORTER_OTLP_ENDPOINT)",
    )


def add_quiet(container: argparse._ActionsContainer) -> None:
    """Add --quiet."""
    container.add_argument("--quiet", action="store_true", help="print errors only")


def add_json(container: argparse._ActionsContainer) -> None:
    """Add --json."""
    container.add_argument("--json", action="store_true", help="print the result as JSON on stdout")


def load(options: argparse.Namespace) -> Tokenizer:
    """Load the tokenizer that the options name."""
    from tokenmill._tokenizer import Tokenizer  # imports numpy

    return Tokenizer.load(options.tokenizer, pattern=options.pattern)


def read(name: str) -> Input:
    """Return the bytes of a file, mapped if possible, or of stdin."""
    if name == STDIN:
        return sys.stdin.buffer.read()
    try:
        file = Path(name).open("rb")  # noqa: SIM115 -- closed below
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        hint = "name files, or none to read stdin"
        raise InputError(problem, path=name, hint=hint) from error
    with file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):  # empty, or a pipe
            return file.read()


@contextlib.contextmanager
def placed(name: str, kind: str) -> Iterator[None]:
    """Let errors name the file, and the line if each is a text, instead of the text's number."""
    try:
        yield
    except EncodeError as error:
        if error.document is None:
            raise
        place = f"{name}:{error.document + 1}" if kind == "line" else name
        place += "" if error.offset is None else f", byte {error.offset}"
        raise TokenmillError(error.problem, where=place, hint=error.hint) from error


def documents(data: Input, kind: str) -> list[Input]:
    """Cut the bytes of one input into texts."""
    return [data] if kind == "file" else list(lines(data))


def lines(data: Input) -> Iterator[bytes]:
    r"""Yield the lines without their `\n`; the last line may lack one."""
    parts = data[:].split(b"\n")
    if not parts[-1]:
        parts.pop()
    yield from parts


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def positive_seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return seconds


def add_no_eos_and_bos(group: argparse._ArgumentGroup) -> None:
    """Add --no-eos and --bos, which `pack` and `pretokenize` share; their --eos differs."""
    group.add_argument("--no-eos", action="store_true", help="put no token after documents")
    group.add_argument(
        "--bos",
        nargs="?",
        const=True,
        metavar="TOKEN|ID",
        help="starts every document; without a value the tokenizer's own (default: none)",
    )

"""What several commands share: options, inputs, and the tokenizer they name."""

from __future__ import annotations

import argparse
import contextlib
import mmap
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tokenmill._errors import EncodeError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenmill._tokenizer import Tokenizer

    # The class is public in all but name; argparse offers no other.
    Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
    Input: TypeAlias = bytes | mmap.mmap

STDIN = "-"


def add_tokenizer(parser: argparse._ActionsContainer) -> None:
    """Add -t and --pattern."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="SOURCE",
        help="tokenizer.json, a directory with one, .tiktoken, tekken.json, .mill or a hub id "
        "(default: the tokenizer in the package)",
    )
    add_pattern(parser)


def add_tokenizer_source(parser: argparse.ArgumentParser) -> None:
    """Add -t for commands on outputs, whose manifest knows the tokenizer."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="SOURCE",
        help="where the tokenizer is now (default: where it was when the output was packed)",
    )


def add_pattern(parser: argparse._ActionsContainer) -> None:
    """Add --pattern."""
    parser.add_argument(
        "--pattern", metavar="NAME|REGEX", help="how a .tiktoken file splits text into words"
    )


def add_files(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the input files."""
    parser.add_argument(
        "files", nargs="*", default=[STDIN], metavar="FILE", help=f"{what} (default: -, the stdin)"
    )


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Add what `encode` and `count` may be told about the text."""
    parser.add_argument(
        "--documents",
        choices=["file", "line"],
        default="file",
        help="what is one text: a whole file (default), or each line without its newline",
    )
    parser.add_argument(
        "--add-special-tokens", action="store_true", help="add what the tokenizer puts around texts"
    )
    parser.add_argument(
        "--special-in-text",
        choices=["encode", "text", "raise"],
        default="encode",
        help="a special token's text becomes its id (default), stays text, or is an error",
    )
    parser.add_argument(
        "--errors",
        choices=["strict", "replace"],
        default="strict",
        help="bytes that are not UTF-8 are an error (default) or become U+FFFD",
    )
    parser.add_argument(
        "--threads", type=positive, metavar="N", help="default: what this process may use"
    )


def load(options: argparse.Namespace) -> Tokenizer:
    """Load the tokenizer that the options name."""
    from tokenmill._tokenizer import Tokenizer  # imports numpy

    return Tokenizer.load(options.tokenizer, pattern=options.pattern)


def read(name: str) -> Input:
    """Return the bytes of a file, mapped where that is possible, or of stdin."""
    if name == STDIN:
        return sys.stdin.buffer.read()
    try:
        file = Path(name).open("rb")  # noqa: SIM115 -- closed below
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        hint = "text is read from files, or from stdin if none is named"
        raise InputError(problem, path=name, hint=hint) from error
    with file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):  # empty, or a pipe
            return file.read()


@contextlib.contextmanager
def blaming(name: str, kind: str) -> Iterator[None]:
    """Let errors say the file, and its line where each is a text, not the number of the text."""
    try:
        yield
    except EncodeError as error:
        if error.document is not None:
            place = f"{name}:{error.document + 1}" if kind == "line" else name
            error.args = (place + str(error).removeprefix(f"document {error.document}"),)
        raise


def documents(data: Input, kind: str) -> list[Input]:
    """Cut the bytes of one input into texts."""
    return [data] if kind == "file" else list(lines(data))


def lines(data: Input) -> Iterator[bytes]:
    r"""Yield the lines without their `\n`; a last line needs none."""
    parts = data[:].split(b"\n")
    if not parts[-1]:
        parts.pop()
    yield from parts


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)

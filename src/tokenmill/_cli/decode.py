"""`tokenmill decode`: ids -> text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._errors import Hint, LoadError, Option

if TYPE_CHECKING:
    import argparse

    import numpy as np
    from numpy.typing import NDArray


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "decode",
        usage="%(prog)s [OPTIONS] [FILE ...]",
        help="turn ids into text",
        description="Turn ids back into text. The input is decimal numbers with spaces between "
        "them, or raw ids with --binary.",
    )
    _options.add_files(parser, "files of ids")
    _options.add_tokenizer(parser)
    parser.add_argument(
        "--documents",
        choices=["file", "line"],
        default="file",
        help="write one text per file, byte for byte, or one per line with a newline after each "
        "(default: file)",
    )
    parser.add_argument("--binary", action="store_true", help="the input is raw little-endian ids")
    parser.add_argument(
        "--dtype",
        choices=["uint16", "uint32"],
        default="uint32",
        help="number type of --binary (default: uint32)",
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.binary and options.documents == "line":
        options.parser.error("--documents line needs ids as text; hint: omit --binary")
    tokenizer = _options.load(options)
    out = sys.stdout.buffer
    for name in options.files:
        data = _options.read(name)
        if options.binary:
            out.write(tokenizer.decode_bytes(_parse_binary(name, data, options.dtype)))
        elif options.documents == "file":
            out.write(tokenizer.decode_bytes(_parse(name, 1, data[:])))
        else:
            for number, line in enumerate(_options.lines(data), start=1):
                out.write(tokenizer.decode_bytes(_parse(name, number, line)) + b"\n")
    out.flush()


def _parse(name: str, line: int, text: bytes) -> NDArray[np.uint32]:
    """Read decimal ids; `line` is the number of the first line of `text`."""
    import numpy as np

    for number, row in enumerate(text.split(b"\n"), start=line):
        for word in row.split():
            if not word.isdigit() or int(word) > np.iinfo(np.uint32).max:
                raise LoadError(
                    f"expected ids as decimal numbers, got {word[:40].decode(errors='replace')!r}",
                    path=name,
                    line=number,
                    hint="--binary reads raw ids",
                )
    return np.array(text.split(), dtype=np.uint32)


def _parse_binary(name: str, data: _options.Input, dtype: str) -> NDArray[np.uint32]:
    import numpy as np

    kind = np.dtype(dtype).newbyteorder("<")
    if len(data) % kind.itemsize:
        raise LoadError(
            f"{len(data)} bytes are not a whole number of {dtype} ids",
            path=name,
            hint=Hint("pass the {} that the file was written with", Option("dtype")),
        )
    return np.frombuffer(data, dtype=kind).astype(np.uint32)

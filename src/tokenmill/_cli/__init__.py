"""The command line: `tokenmill pack|pretokenize|plan|status|verify|inspect|convert|encode|...`.

Data goes to stdout, everything else to stderr. Exit status: 0 done, 1 the data is wrong, 2 the
command is wrong, 3 more bad records than the command allows, 4 done, but some files could not be
read, 130 Ctrl-C. Nothing here imports numpy before a command runs: `--help` must answer at once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

from tokenmill import __version__
from tokenmill._cli import (
    bench,
    count,
    decode,
    encode,
    info,
    inspect,
    pack,
    plan,
    pretokenize,
    profile,
    report,
    rewrite,
    serve,
    status,
    tune,
    verify,
)
from tokenmill._cli import compile as compile_command
from tokenmill._cli._parser import CommandParser, with_hyphens
from tokenmill._cli._spelling import message_of
from tokenmill._errors import OptionError, TokenmillError, TooManyBadRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INTERRUPTED = 130  # 128 + SIGINT, what shells expect
_USAGE = 2
_TOO_MANY_BAD = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(with_hyphens(sys.argv[1:] if arguments is None else arguments))
    found_wrong = None
    try:
        with _warnings_on_one_line():
            found_wrong = options.run(options)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, e.g. `head`. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (TokenmillError, OSError) as error:
        print(f"tokenmill: {message_of(error, options.parser)}", file=sys.stderr)  # noqa: T201
        return _status(error)
    finally:
        gc.enable()  # a command that failed early has left it off
    return found_wrong or 0


def _status(error: Exception) -> int:
    if isinstance(error, TooManyBadRecords):
        return _TOO_MANY_BAD
    return _USAGE if isinstance(error, OptionError) else 1


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="tokenmill",
        usage="%(prog)s COMMAND [OPTIONS]",
        description="Text to token ids and back, exactly as the tokenizer's own library does it.",
        epilog="See `tokenmill COMMAND --help`. Without -t, commands use the built-in tokenizer.",
    )
    parser.add_argument("--version", action="version", version=f"tokenmill {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", prog=parser.prog, required=True
    )
    on_outputs = (pack, pretokenize, plan, status, verify, inspect, report, rewrite)
    on_texts = (encode, decode, count, info, compile_command)
    for command in (*on_outputs, *on_texts, bench, profile, tune, serve):
        command.register(commands)
    return parser


@contextlib.contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    import warnings

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"tokenmill: warning: {message}", file=sys.stderr)  # noqa: T201

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield

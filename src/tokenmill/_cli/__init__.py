"""The command line: `tokenmill pack|pretokenize|plan|status|verify|inspect|convert|encode|...`.

Data goes to stdout, the rest to stderr. Exit status: 0 done, 1 the data is wrong, 2 the command is,
3 there are more bad records than the command allows, 4 done without files that cannot be read.
Nothing here imports numpy before a command runs: `--help` must answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
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
    rewrite,
    status,
    verify,
)
from tokenmill._cli import compile as compile_command
from tokenmill._errors import OptionError, TokenmillError, TooManyBadRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INTERRUPTED = 130  # 128 + SIGINT, what shells expect
_USAGE = 2
_TOO_MANY_BAD = 3
# What hints for Python spell `errors="replace"` or `pattern=` is an option here.
_ARGUMENT = re.compile(
    r"""\b(bos|dtype|eos|errors|force|max_bad|pattern|special_in_text)="""
    r"""(?:(["'])(\w+)\2|(True|False)\b|(?=\s))"""
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    found_wrong = None
    try:
        with _warnings_on_one_line():
            options = _parser().parse_args(arguments)
            found_wrong = options.run(options)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `head` does. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (TokenmillError, OSError) as error:
        print(f"tokenmill: {_for_a_shell(str(error))}", file=sys.stderr)  # noqa: T201
        return _status(error)
    return found_wrong or 0


def _status(error: Exception) -> int:
    if isinstance(error, TooManyBadRecords):
        return _TOO_MANY_BAD
    return _USAGE if isinstance(error, OptionError) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tokenmill",
        description="Text to token ids and back, exactly as the tokenizer's own library does it.",
        epilog="`tokenmill COMMAND --help` says more. Without -t, the package's own tokenizer.",
    )
    parser.add_argument("--version", action="version", version=f"tokenmill {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    on_outputs = (pack, pretokenize, plan, status, verify, inspect, rewrite)
    for command in (*on_outputs, encode, decode, count, info, compile_command, bench):
        command.register(commands)
    return parser


def _for_a_shell(message: str) -> str:
    """Name options instead of arguments in the hint.

    errors="replace" -> --errors replace; force=True -> --force; eos=False -> --no-eos
    """
    problem, separator, hint = message.rpartition("; hint: ")
    if not separator:
        return message
    return problem + separator + _ARGUMENT.sub(_option, hint)


def _option(argument: re.Match[str]) -> str:
    name = ("--no-" if argument[4] == "False" else "--") + argument[1].replace("_", "-")
    return f"{name} {argument[3]}" if argument[3] else name


@contextlib.contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    import warnings

    def show(message: Warning | str, *_: object, **__: object) -> None:
        print(f"tokenmill: warning: {message}", file=sys.stderr)  # noqa: T201

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield

"""The parser of a command: options as people spell them, and errors that name the nearest one."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CLOSE = 0.6  # of difflib: how much of two names must agree
# The same option under the names that other commands and other tools gave it.
_SAME_OPTION = (
    {"--context-length", "--chunk-size", "--max-length", "--seq-length", "--block-size"},
    {"--max-sequences", "--max-chunks"},
    {"--workers", "--num-workers", "--num-proc", "--threads"},
    {"--field", "--text-column", "--text-field", "--text-key"},
    {"--output", "--output-dir", "--out", "--output-prefix", "--output-path"},
    {"--input", "--input-dir", "--dataset", "--source"},
    {"--tokenizer", "--tokenizer-name", "--tokenizer-path", "--tokenizer-model"},
    {"--shard-tokens", "--sequences-per-chunk", "--shard-size"},
)


def with_hyphens(arguments: Sequence[str]) -> list[str]:
    """Spell option names with hyphens: `--chunk_size=a_b` -> `--chunk-size=a_b`.

    Values and everything after `--` stay as they are.
    """
    found = list(arguments)
    for at, argument in _options_in(arguments):
        name, equals, value = argument.partition("=")
        found[at] = name.replace("_", "-") + equals + value
    return found


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses unknown options itself, with its own usage and the nearest name.

    `default_command` runs if the arguments start with an option instead of a subcommand.
    """

    def __init__(self, *, default_command: str | None = None, **options: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, **options)
        self._default_command = default_command

    def parse_known_args(  # type: ignore[override]  # argparse overloads it for its namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and exit with status 2 at the first argument that nothing here takes."""
        args = list(args or ())
        if self._subparsers is None:
            self._refuse_unknown_option(args)
        else:
            if self._default_command is not None and _starts_with_option(args):
                args.insert(0, self._default_command)
            self._refuse_unknown_command(args)
        found, extra = super().parse_known_args(args, namespace)
        if extra:
            kind = "unknown option" if extra[0].startswith("-") else "unexpected argument"
            self.error(f"{kind} {extra[0]}")
        if self._subparsers is None:
            found.parser = self  # the command that runs: its own usage and options are in errors
        return found, extra

    def error(self, message: str) -> NoReturn:
        """Print the usage, what is wrong and where the help is; exit with status 2."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help`.\n")

    def _refuse_unknown_option(self, arguments: Sequence[str]) -> None:
        known = [name for name in self._option_string_actions if name.startswith("--")]
        for _, argument in _options_in(arguments):
            name = argument.partition("=")[0]
            if not any(option.startswith(name) for option in known):  # argparse completes names
                same = [names & set(known) for names in _SAME_OPTION if name in names]
                meant = sorted(set().union(*same)) or get_close_matches(name, known, 1, _CLOSE)
                self.error(f"unknown option {name}{_did_you_mean(meant)}")

    def _refuse_unknown_command(self, arguments: Sequence[str]) -> None:
        options = list(takewhile(lambda argument: argument.startswith("-"), arguments))
        self._refuse_unknown_option(options)
        commands = [name for action in self._actions for name in action.choices or ()]
        if len(options) == len(arguments):
            if not {"-h", "--help", "--version"}.intersection(arguments):
                self.error(f"expected a command: {', '.join(commands)}")
        elif arguments[len(options)] not in commands:
            name = arguments[len(options)]
            meant = get_close_matches(name, commands, 1, _CLOSE)
            self.error(f"unknown command {name!r}{_did_you_mean(meant)}")


class _HelpFormatter(argparse.HelpFormatter):
    """Wraps a paragraph; text with lines of its own, e.g. examples, stays as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def _did_you_mean(names: Sequence[str]) -> str:
    return f"; did you mean {names[0]}?" if names else ""


def _options_in(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the long options with their positions, as argparse recognises them."""
    for at, argument in enumerate(arguments):
        if argument == "--":
            return
        if argument.startswith("--") and " " not in argument.partition("=")[0]:
            yield at, argument


def _starts_with_option(arguments: Sequence[str]) -> bool:
    return not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help"))

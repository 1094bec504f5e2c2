"""`tokenmill info`: what a tokenizer is and how it runs here, or what this machine is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tokenmill._cli import _options
from tokenmill._cli._machine_lines import machine_lines

if TYPE_CHECKING:
    import argparse


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "info",
        usage="%(prog)s [OPTIONS] [SOURCE]",
        help="describe a tokenizer, or this machine",
        description="Print which normalizer, split and code path a tokenizer uses, and why. With "
        "--machine, print what decides the speed here: cores, quota, caches, SIMD, memory, disk, "
        "GPU and versions. Please include that in bug reports.",
    )
    parser.add_argument(
        "tokenizer", nargs="?", metavar="SOURCE", help="the tokenizer (default: the built-in one)"
    )
    _options.add_pattern(parser)
    parser.add_argument("--machine", action="store_true", help="describe this machine instead")
    _options.add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    text = _machine(options) if options.machine else _tokenizer(options)
    sys.stdout.write(text + "\n")


def _tokenizer(options: argparse.Namespace) -> str:
    description = _options.load(options).describe()
    return description.to_json() if options.json else str(description)


def _machine(options: argparse.Namespace) -> str:
    from tokenmill._machine.facts import describe_machine  # imports the core

    if options.tokenizer is not None or options.pattern is not None:
        options.parser.error("--machine takes no tokenizer")
    machine = describe_machine()
    return json.dumps(machine.as_json()) if options.json else "\n".join(machine_lines(machine))

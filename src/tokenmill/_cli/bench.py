"""`tokenmill bench`: how fast it is here, and whether it became slower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenmill._cli._bench import gpu, latency, pack, peers, targets, throughput, tokenize

if TYPE_CHECKING:
    from tokenmill._cli import _options


def register(commands: _options.Commands) -> None:
    """Add the command to the command line."""
    bench = commands.add_parser(
        "bench",
        usage="%(prog)s [WHAT] [OPTIONS]",
        help="measure speed, latency and memory on this machine",
        description="Measure tokenmill on this machine, with your own text if you like. `tokenize` "
        "runs if you name nothing else.",
        default_command="tokenize",
    )
    kinds = bench.add_subparsers(
        title="what to measure", metavar="WHAT", prog=bench.prog, required=True
    )
    for kind in (tokenize, latency, throughput, pack, gpu, peers, targets):
        kind.register(kinds)

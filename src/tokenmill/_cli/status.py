"""`tokenmill status`: how far a run has come, once or live."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from functools import partial
from threading import Event as _Clock
from typing import TYPE_CHECKING, Any

from tokenmill._cli._accounts import documents_read
from tokenmill._cli._lines import counted, line, named
from tokenmill._cli._options import add_json, positive_seconds
from tokenmill._numbers import duration, size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from tokenmill._cli._options import Commands

_EVERY = 1.0
_LINE_EVERY = 5.0  # without a terminal
_PORTS = 65_535


def register(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "status",
        usage="%(prog)s [--watch] [--serve PORT] [--json] OUTPUT",
        help="show the progress of a `pack`, `convert`, `reshard` or `merge`, once or live",
        description="Show whether an output is finished, and if not, how much is done. This reads "
        "only the records and the heartbeat of the run, so it works on every machine that sees the "
        "folder.",
        epilog="With --watch, the exit status is 1 if the run ends without an output.",
    )
    parser.add_argument(
        "output", metavar="OUTPUT", help="the folder or address that the run writes to"
    )
    parser.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="show the run live until it ends: stages, rates, time left, memory, bad records",
    )
    parser.add_argument(
        "--serve",
        type=_port,
        metavar="PORT",
        help="show the run as a page at http://127.0.0.1:PORT until Ctrl-C, or with --watch until "
        "the run ends; 0 chooses a port",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where --serve listens (default: 127.0.0.1, this machine only)",
    )
    parser.add_argument(
        "--every",
        type=positive_seconds,
        metavar="SECONDS",
        help=f"seconds between updates (default: {_EVERY:g}, or {_LINE_EVERY:g} for plain lines "
        "and for an output in a store)",
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.watch or options.serve is not None:
        return _live(options)
    from tokenmill._mill.status import status  # imports numpy

    facts = status(options.output)
    text = json.dumps(facts) if options.json else _text(facts)
    sys.stdout.write(text + "\n")
    return 0


def _live(options: argparse.Namespace) -> int:
    """Show a run until it ends; the status is 1 if it ends without an output."""
    from tokenmill._mill.status import follow, has_died, status

    with ExitStack() as stack:
        if options.serve is not None:
            from tokenmill._mill.watch.live_page import LivePage

            status(options.output)  # nothing to serve is an error at once
            watched = partial(follow, options.output)
            page = LivePage(options.output, options.host, options.serve, watched)
            stack.enter_context(page)
            sys.stderr.write(f"tokenmill: {options.output} is at {page.url} (Ctrl-C ends it)\n")
            if not options.watch:
                _Clock().wait()
        return int(has_died(_watch(options)))


def _watch(options: argparse.Namespace) -> dict[str, Any]:
    from tokenmill._mill.status import follow

    show, every = _viewer(options)
    clock = _Clock()
    facts: dict[str, Any] = {}
    for facts in follow(options.output, lambda: clock.wait(options.every or every)):
        show(facts)
    return facts


def _viewer(options: argparse.Namespace) -> tuple[Callable[[dict[str, Any]], None], float]:
    """Return what shows the state of a run here, and how often."""
    from tokenmill._cli._watch_screen import Screen, plain_line
    from tokenmill._store import is_address

    out = sys.stdout
    every = _LINE_EVERY if is_address(options.output) else _EVERY  # looks at a store cost requests

    def write(text: str) -> None:
        out.write(text + "\n")
        out.flush()

    if options.json:
        return lambda facts: write(json.dumps(facts)), every
    if out.isatty():
        screen = Screen(out)
        return lambda facts: screen.draw(options.output, facts), every
    return lambda facts: write(plain_line(facts)), _LINE_EVERY


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > _PORTS:
        import argparse

        raise argparse.ArgumentTypeError(f"expected a port from 0 to {_PORTS}, got {text!r}")
    return int(text)


def _text(facts: dict[str, Any]) -> str:
    return "\n".join((_finished if facts["state"] == "finished" else _unfinished)(facts))


def _finished(facts: dict[str, Any]) -> list[str]:
    books, tokens = facts["documents"], facts["tokens"]
    return [
        line("finished", f"{facts['shards']:,}", named(facts["shards"], "shard")),
        line("documents", f"{books['out']:,}", f"packed, {documents_read(books):,} read"),
        line("tokens", f"{tokens['out']:,}", "stored"),
    ]


def _unfinished(facts: dict[str, Any]) -> list[str]:
    share = facts["input_bytes"] / facts["total_bytes"] if facts["total_bytes"] else 0.0
    done = f"{size(facts['input_bytes'])} of {size(facts['total_bytes'])}"
    parts, bad = counted(facts["parts"], "part"), counted(facts["bad"], "bad record")
    safe = f"tokenized and safe: {done}, {parts}"
    if "outputs" in facts:  # convert, reshard or merge
        safe = f"written again: {done} of {counted(facts['outputs'], 'output')}"
    run = facts["run"]
    is_running = run is not None and run["state"] == "running"
    return [
        line("unfinished", f"{share:.0%}", safe),
        line("documents", f"{facts['documents']:,}", f"so far, {bad}"),
        line("tokens", f"{facts['tokens']:,}", "so far"),
        line("shards", f"{facts['shards']:,}", "so far"),
        *map(_rank, facts["ranks"]),
        facts["words"] + ("; --watch shows it live" if is_running else "")
        if run is not None
        else "run the same command again to resume",
    ]


def _rank(state: dict[str, Any]) -> str:
    # By the clock of the file server, so it may be a little off.
    silent = max(time.time() - state["changed"], 0)
    is_over = state["state"] in ("done", "stopped", "failed")
    seen = "" if is_over else f", seen {duration(silent)} ago"
    what = f"{state['state']}{seen}, {size(state['input_bytes'])} read, {state['shards']:,} shards"
    where = f"{state['host']}, process {state['process']}"
    error = f": {state['error']}" if "error" in state else ""
    return line("rank", f"{state['rank']}", what, where + error)

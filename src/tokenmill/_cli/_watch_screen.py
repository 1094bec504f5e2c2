"""The state of a run as lines: a screen that is drawn over itself, or one plain line at a time."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, TextIO

from tokenmill._cli._lines import counted
from tokenmill._numbers import duration, rate, size

if TYPE_CHECKING:
    from collections.abc import Iterator

_LABEL = 11
_LEAST_WIDTH = 24
_BAR, _MOST_BAR = 12, 40
_SMALL = 0.005  # a stage below this share of the time is not shown
_MEGA = 1e6
_STAGES = 8
_PHASES = {"tokenize": "phase 1 of 2", "pack": "phase 2 of 2"}
_COLOURS = {"bold": "1", "green": "32", "yellow": "33", "red": "31", "cyan": "36", "dim": "2"}
_STATE_COLOURS = {"running": "green", "finished": "green", "listening": "yellow", "quiet": "yellow"}


class Screen:
    """Lines on a terminal, each drawing in the place of the one before."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._height = 0
        self._colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def draw(self, output: str, facts: dict[str, Any]) -> None:
        """Draw the state of a run; what does not fit the terminal is left out."""
        size_now = shutil.get_terminal_size()
        width = max(size_now.columns - 1, _LEAST_WIDTH)
        rows = list(rows_of(output, facts, width))[: max(size_now.lines - 1, 1)]
        back = f"\x1b[{self._height}F" if self._height else ""
        text = "".join(f"\x1b[2K{self._paint(row, colour, width)}\n" for row, colour in rows)
        self._out.write(f"{back}{text}\x1b[J")
        self._out.flush()
        self._height = len(rows)

    def _paint(self, row: str, colour: str, width: int) -> str:
        row = "".join(letter if letter.isprintable() else "?" for letter in row)
        row = row if len(row) <= width else row[: width - 1] + "~"
        return f"\x1b[{_COLOURS[colour]}m{row}\x1b[0m" if colour and self._colour else row


def plain_line(facts: dict[str, Any]) -> str:
    """Return the state of a run as one line."""
    run = facts.get("run")
    if facts["state"] == "finished":
        documents, tokens = facts["documents"]["out"], facts["tokens"]["out"]
        return f"finished: {counted(documents, 'document')}, {counted(tokens, 'token')}"
    if run is None:
        return str(facts["words"])
    words = [
        run["phase"],
        "" if run["done"] is None else f"{run['done']:.0%}",
        "" if run["eta_seconds"] is None else f"{duration(run['eta_seconds'])} left",
        size(run["input_bytes"]),
        _speed(run),
        f"{run['documents']:,} documents",
        f"{run['tokens'] / _MEGA:,.1f} M tokens",
        f"{run['bad']:,} bad" if run["bad"] else "",
        f"slowest: {run['bottleneck'].replace('_', ' ')}" if run["bottleneck"] else "",
        f"{size(_memory(run))} memory",
        "" if run["state"] == "running" and not _is_still(facts) else facts["words"],
    ]
    return "  ".join(word for word in words if word)


def rows_of(output: str, facts: dict[str, Any], width: int) -> Iterator[tuple[str, str]]:
    """Yield the rows of the screen, each with its colour."""
    run = facts.get("run")
    if facts["state"] == "finished":
        yield _row(output, "finished"), "green"
        yield _row("documents", f"{facts['documents']['out']:,}"), ""
        yield _row("tokens", f"{facts['tokens']['out']:,}"), ""
        return
    yield output, "bold"
    state = "died" if run is None else run["state"]
    colour = "yellow" if _is_still(facts) else _STATE_COLOURS.get(state, "red")
    yield from ((line, colour) for line in _wrapped(facts["words"], width))
    if run is not None:
        yield from _progress(run, width)
        yield from _counts(run)
        yield from _stages(run, width)
        yield from _rest(run)


def _progress(run: dict[str, Any], width: int) -> Iterator[tuple[str, str]]:
    done, left = run["done"], run["eta_seconds"]
    head = _row(run["phase"], "" if done is None else f"{done:4.0%}")
    tail = _PHASES.get(run["phase"], "")
    bar, room = "", min(_MOST_BAR, width - len(head) - len(tail) - 6)
    if done is not None and room >= _BAR:
        bar = "[" + ("#" * int(done * room)).ljust(room, ".") + "]"
    yield "  ".join(word for word in (head, bar, tail) if word), "cyan"
    rest = "unknown" if left is None else f"about {duration(left)} left"
    yield _row("time", f"{duration(run['seconds'])}, {rest}"), ""


def _counts(run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    rates, reads = run["rates"], run["phase"] != "pack"
    total = f" of {size(run['total_bytes'])}" if run["total_bytes"] else ""
    resumed = f"{size(run['resumed_bytes'])} by an earlier run" if run["resumed_bytes"] else ""
    yield (
        _row("input", f"{size(run['input_bytes'])}{total}", _speed(run) if reads else "", resumed),
        "",
    )
    for name in ("documents", "tokens"):
        now = f"{_per_second(rates[f'{name}_per_second'])}/s" if reads else ""
        yield _row(name, f"{run[name]:,}", now), ""
    packs = run["packed_tokens"] or not reads
    now = f"{_per_second(rates['packed_tokens_per_second'])}/s" if packs else ""
    shards = f"{run['shards']:,} of {run['total_shards']:,} shards"
    if not run["total_shards"]:
        shards = counted(run["shards"], "shard") if run["shards"] else ""
    yield _row("in shards", f"{run['packed_tokens']:,}", now, shards), ""


def _stages(run: dict[str, Any], width: int) -> Iterator[tuple[str, str]]:
    total = sum(run["recent_stages"].values())
    ranked = sorted(run["recent_stages"].items(), key=lambda stage: -stage[1])
    label = "stages"
    for name, seconds in ranked[:_STAGES]:
        share = seconds / total if total else 0.0
        if share >= _SMALL:
            text = _row(label, f"{name.replace('_', ' '):<12} {share:4.0%}")
            room = min(_MOST_BAR, width - len(text) - 2)
            yield text + "  " + "=" * max(0, round(share * room)), "" if label else "dim"
            label = ""


def _rest(run: dict[str, Any]) -> Iterator[tuple[str, str]]:
    memory = f"{size(_memory(run))} now, {size(run['memory']['peak'])} at most"
    yield _row("memory", memory), ""
    reasons = sorted(run["bad_reasons"].items(), key=lambda reason: -reason[1])
    named = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in reasons)
    bad = f"{run['bad']:,}: {named}" if named else "none so far"
    yield _row("bad records", bad), "yellow" if run["bad"] else ""


def _row(label: str, *words: str) -> str:
    return "  ".join([f"{label:<{_LABEL}}", *(word for word in words if word)])


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width) or [""]


def _speed(run: dict[str, Any]) -> str:
    rates = run["rates"]
    if run["phase"] != "pack":
        return f"{_per_second(rates['bytes_per_second'] / _MEGA)} MB/s"
    return f"{_per_second(rates['packed_tokens_per_second'])} tokens/s"


def _per_second(value: float) -> str:
    return rate(value) if value else "0"


def _memory(run: dict[str, Any]) -> int:
    return int(run["memory"].get("resident", run["memory"]["peak"]))


def _is_still(facts: dict[str, Any]) -> bool:
    return "nothing has moved" in facts.get("words", "")

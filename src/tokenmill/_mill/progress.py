"""The progress of a run: one line that changes on a terminal, plain or JSON lines elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from typing import TYPE_CHECKING, TextIO

from tokenmill._checks import one_of
from tokenmill._mill.meter import READING
from tokenmill._platform.memory import peak_bytes
from tokenmill._stats import mostly

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from tokenmill._mill.meter import Meter

KINDS = ("auto", "bar", "plain", "json", "none")
_BAR_SECONDS = 0.25
_LINE_SECONDS = 5.0
_BAR_WIDTH = 20


class Progress:
    """Shows a meter until the block ends."""

    def __init__(self, meter: Meter, kind: str, out: TextIO | None = None) -> None:
        one_of("progress", kind, KINDS)
        self._meter = meter
        self._out = out or sys.stderr
        if kind == "auto":
            kind = "bar" if self._out.isatty() else "plain"
        self._kind = kind
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._width = 0

    def __enter__(self) -> Self:
        if self._kind != "none":
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._width:  # clear the line for the next output
            self._out.write("\r" + " " * self._width + "\r")
            self._out.flush()

    def _show(self) -> None:
        pause = _BAR_SECONDS if self._kind == "bar" else _LINE_SECONDS
        while not self._done.wait(pause):
            if self._kind == "json":
                self._write_record()
            elif self._kind == "plain":
                self._out.write(as_line(self._meter) + "\n")
            else:
                # A line that wraps could not be overwritten.
                line = as_bar(self._meter)[: shutil.get_terminal_size().columns - 1]
                self._out.write("\r" + line.ljust(self._width))
                self._width = len(line)
            self._out.flush()
        if self._kind == "json":
            self._write_record()  # programs read the last one, even of a short run

    def _write_record(self) -> None:
        self._out.write(json.dumps(as_json(self._meter)) + "\n")
        self._out.flush()


def fraction_done(meter: Meter) -> float | None:
    """Return how much of the current phase is done, if that is known."""
    if meter.phase in READING:
        return min(1.0, meter.input_bytes / meter.total_bytes) if meter.total_bytes else None
    return min(1.0, meter.packed_tokens / meter.total_tokens) if meter.total_tokens else None


def as_json(meter: Meter) -> dict[str, object]:
    """Return the meter as one record."""
    seconds = max(meter.seconds, 1e-9)
    new_bytes = meter.input_bytes - meter.resumed_bytes
    return {
        "phase": meter.phase,
        "done": fraction_done(meter),
        "input_bytes": meter.input_bytes,
        "total_bytes": meter.total_bytes,
        "documents": meter.documents,
        "tokens": meter.tokens,
        "bad": meter.bad,
        "shards": meter.shards,
        "total_shards": meter.total_shards,
        "seconds": round(seconds, 3),
        "mb_per_second": round(new_bytes / seconds / 1e6, 1),
        "eta_seconds": _eta(meter),
        "memory_mb": peak_memory_mb(),
        "bottleneck": meter.bottleneck(),
    }


def as_line(meter: Meter) -> str:
    """Return the meter as a line of words."""
    seconds = max(meter.seconds, 1e-9)
    rate = (meter.input_bytes - meter.resumed_bytes) / seconds / 1e6
    done = fraction_done(meter)
    words = [
        f"{meter.phase:<8}",
        "" if done is None else f"{done:4.0%}",
        "" if (eta := _eta(meter)) is None else f"{_clock(eta)} left",
        f"{meter.input_bytes / 1e6:,.0f} MB",
        f"{meter.documents:,} documents",
        f"{meter.tokens / 1e6:,.1f} M tokens",
        f"{rate:,.0f} MB/s",
        f"{meter.shards}/{meter.total_shards} shards" if meter.total_shards else "",
        f"{meter.bad:,} bad" if meter.bad else "",
        mostly(meter.bottleneck()),
        f"{peak_memory_mb():.0f} MB memory",
    ]
    return "  ".join(word for word in words if word)


def as_bar(meter: Meter) -> str:
    """Return the meter as a line with a bar."""
    done = fraction_done(meter) or 0.0
    full = int(done * _BAR_WIDTH)
    return "[" + "#" * full + "." * (_BAR_WIDTH - full) + "] " + as_line(meter)


def peak_memory_mb() -> float:
    """Return the peak memory of this process, in MB."""
    return round(peak_bytes() / 1e6, 1)


def _eta(meter: Meter) -> float | None:
    if meter.seconds_left is not None:
        return round(meter.seconds_left, 1)
    new = meter.input_bytes - meter.resumed_bytes
    left = meter.total_bytes - meter.input_bytes
    if meter.phase not in READING or new <= 0 or left < 0:
        return None
    return round(meter.seconds * left / new, 1)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

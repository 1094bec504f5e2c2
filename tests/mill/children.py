"""Runs of the mill in processes of their own, which die when they are told to.

A *step* is a write to a new file, a sync, a rename or a removal: a process that is killed before
step n leaves what a machine would leave that stopped there.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.mill.tuned import SMALL, Sizes, shrink

from tokenmill._files import NewFile
from tokenmill._pipeline import pack

if TYPE_CHECKING:
    from collections.abc import Callable

_THP_DISABLE = 41  # PR_SET_THP_DISABLE
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([__name__, "pyarrow.parquet", "pytest"])


@dataclass(frozen=True)
class Order:
    """What a child does: the arguments of `pack`, and how it ends."""

    inputs: Any
    options: dict[str, Any]
    die_at: int | None = None  # step before which it gets the signal
    signal: int = signal.SIGKILL
    file_bytes: int | None = None  # a full disk: no file grows beyond this
    sizes: Sizes | None = SMALL


@dataclass(frozen=True)
class Outcome:
    """How a child ended: -9 if it was killed; what it raised; what it counted."""

    code: int
    error: BaseException | None
    steps: int
    seconds: float
    peak_mb: float
    grown_mb: float  # from when it began


class _Steps:
    """Counts steps, and sends the process a signal before one of them."""

    def __init__(self, die_at: int | None, signal_number: int) -> None:
        self._die_at = die_at
        self._signal = signal_number
        self._lock = threading.Lock()
        self.count = 0

    def before(self, function: Callable[..., Any], *, does: bool = True) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            with self._lock:
                self.count += 1
                if self.count == self._die_at:
                    os.kill(os.getpid(), self._signal)
            return function(*arguments, **named) if does else None

        return step


def _refuse_large_pages() -> None:
    """Take pages of 4 KB: larger ones come as the system likes, and change the peak by themselves.

    Where the system has no such call, nothing happens.
    """
    ctypes.CDLL(None).prctl(_THP_DISABLE, 1, 0, 0, 0)


def _child(connection: Any, order: Order) -> None:  # noqa: ANN401
    # A shell that runs tests in the background has told them to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _refuse_large_pages()
    steps = _Steps(order.die_at, order.signal)
    os.fsync = steps.before(os.fsync, does=False)  # a killed process loses no page of the cache
    os.replace = steps.before(os.replace)
    os.unlink = steps.before(os.unlink)
    os.rmdir = steps.before(os.rmdir)
    NewFile.write = steps.before(NewFile.write)  # type: ignore[method-assign]
    if order.sizes is not None:
        shrink(sizes=order.sizes)
    if order.file_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_bytes, order.file_bytes))
    connection.send("ready")
    at_first = peak_mb()
    began = time.perf_counter()
    error: BaseException | None = None
    try:
        pack(order.inputs, **order.options)
    except BaseException as raised:
        error = raised
    seconds = time.perf_counter() - began
    peak = peak_mb()
    connection.send(Outcome(0, error, steps.count, seconds, peak, peak - at_first))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def run_child(order: Order, *, kill_after: float | None = None) -> Outcome:
    """Run a child to its end, or kill it some seconds after it begins."""
    ours, theirs = _SERVER.Pipe()
    process = _SERVER.Process(target=_child, args=(theirs, order))
    process.start()
    theirs.close()
    outcome: Outcome | None = None
    with contextlib.suppress(EOFError):  # it died
        assert ours.recv() == "ready"
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        outcome = ours.recv()
    process.join()
    assert process.exitcode is not None
    if outcome is None:
        return Outcome(process.exitcode, None, 0, 0.0, 0.0, 0.0)
    return outcome

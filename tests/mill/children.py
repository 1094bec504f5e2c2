"""Runs of the mill in child processes, which can be killed at a given step.

A *step* is a write to a new file, a sync, a rename or a removal, or a request that changes a store:
a process that is killed before step n leaves what a machine would leave that stopped there.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.mill.tuned import SMALL, Sizes, shrink
from tests.peaks import peak_mb, refuse_large_pages

from tokenmill._files import NewFile
from tokenmill._mill import pack as pack_module
from tokenmill._mill.pack import pack
from tokenmill._store import upload

if TYPE_CHECKING:
    from collections.abc import Callable

_KILL_ME = "kill me"
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([__name__, "pyarrow.parquet", "pytest"])


@dataclass(frozen=True)
class Order:
    """What a child does: the arguments of `pack`, and how it ends."""

    inputs: Any
    options: dict[str, Any]
    die_at: int | None = None  # step before which it gets the signal
    signal: int | None = signal.SIGKILL  # None: it asks to be killed and continues until it is
    file_bytes: int | None = None  # a full disk: no file grows beyond this
    sizes: Sizes | None = SMALL
    kept_bytes: int = 0  # of ids that wait in memory, as with a device
    environment: dict[str, str] | None = None  # variables; children do not have ours
    upload_bytes: int | None = None  # of a part of an upload


@dataclass(frozen=True)
class Outcome:
    """How a child ended: -9 if it was killed; what it raised; what it counted."""

    code: int
    error: BaseException | None
    steps: int
    peak_mb: float
    grown_mb: float  # since its start


class _Steps:
    """Counts steps, and ends the process before one of them."""

    def __init__(self, die_at: int | None, die: Callable[[], None]) -> None:
        self._die_at = die_at
        self._die = die
        self._lock = threading.Lock()
        self.count = 0

    def before(self, function: Callable[..., Any], *, does: bool = True) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                self.count += 1
                if self.count == self._die_at:
                    self._die()
            return function(*arguments, **named) if does else None

        return step


def _child(connection: Any, order: Order) -> None:
    # A shell that runs tests in the background makes them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    refuse_large_pages()
    os.environ.update(order.environment or {})

    def die() -> None:
        if order.signal is None:
            connection.send(_KILL_ME)
        else:
            os.kill(os.getpid(), order.signal)

    steps = _Steps(order.die_at, die)
    os.fsync = steps.before(os.fsync, does=False)  # a killed process loses no page of the cache
    os.replace = steps.before(os.replace)
    os.unlink = steps.before(os.unlink)
    os.rmdir = steps.before(os.rmdir)
    NewFile.write = steps.before(NewFile.write)  # type: ignore[method-assign]
    if order.environment is not None:  # then it writes to a store
        import obstore

        upload.PART_BYTES = order.upload_bytes or upload.PART_BYTES
        obstore.put = steps.before(obstore.put)
        obstore.delete = steps.before(obstore.delete)
    if order.sizes is not None:
        shrink(sizes=order.sizes)
    pack_module.kept_room = lambda *_: order.kept_bytes
    if order.file_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_bytes, order.file_bytes))
    connection.send("ready")
    at_first = peak_mb()
    error: BaseException | None = None
    try:
        pack(order.inputs, **order.options)
    except BaseException as raised:
        error = raised
    peak = peak_mb()
    connection.send(Outcome(0, error, steps.count, peak, peak - at_first))


class Child:
    """A child that runs; several may run at the same time."""

    def __init__(self, order: Order) -> None:
        self._ours, theirs = _SERVER.Pipe()
        self._process = _SERVER.Process(target=_child, args=(theirs, order))
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def outcome(self) -> Outcome:
        """Wait for its end, or kill it when it asks for that."""
        outcome: Outcome | None = None
        with contextlib.suppress(EOFError):  # it died
            assert self._ours.recv() == "ready"
            said = self._ours.recv()
            if said == _KILL_ME:
                self._process.kill()
                said = self._ours.recv()  # it may have finished before
            outcome = said
        self._process.join()
        assert self._process.exitcode is not None
        if outcome is None:
            return Outcome(self._process.exitcode, None, 0, 0.0, 0.0)
        return outcome


def run_child(order: Order) -> Outcome:
    """Run a child to its end, or kill it when it asks for that."""
    return Child(order).outcome()

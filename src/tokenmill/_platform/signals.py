"""Waiting for signals of POSIX systems, with a limit. Windows has none, and nobody asks there."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_LOOK_AGAIN = 0.02  # seconds


def hold_back(numbers: Collection[signal.Signals]) -> None:
    """Keep signals until they are waited for."""
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    if not hasattr(signal, "sigtimedwait"):
        # macOS forgets a signal that would do nothing, even one that is held back.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)


def let_through(numbers: Collection[signal.Signals]) -> None:
    """Undo it, in a child."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def wait_for_signal(numbers: Collection[signal.Signals], seconds: float) -> int | None:
    """Return the next of these signals, which are held back; None if none came in time."""
    if hasattr(signal, "sigtimedwait"):
        found = signal.sigtimedwait(numbers, max(0.0, seconds))
        return None if found is None else int(found.si_signo)
    end = time.monotonic() + seconds  # macOS
    while not (waiting := signal.sigpending() & set(numbers)):
        if (left := end - time.monotonic()) <= 0:
            return None
        time.sleep(min(left, _LOOK_AGAIN))
    return signal.sigwait(waiting)

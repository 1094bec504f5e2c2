"""What workers of Ray do at their start in tests: small sizes, and death at a step that is given.

A file in the folder of deaths has the number of a step. A worker takes one of them at its first
step, and kills itself before the step that it names. So every death is at a place of its own, and
none depends on the clock.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mill.tuned import shrink

from tokenmill._files import NewFile

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "TOKENMILL_TEST_DEATHS"
_DIED = ".died"
_TAKEN = ".taken"


def prepare() -> None:
    """Prepare a worker; Ray calls this before everything else."""
    shrink()
    deaths = _Deaths(Path(os.environ[FOLDER]))
    os.fsync = deaths.before(lambda _: None)
    os.replace = deaths.before(os.replace)
    NewFile.write = deaths.before(NewFile.write)  # type: ignore[method-assign]


def order_deaths(folder: Path, steps: list[int]) -> None:
    """Let the next workers die at these steps."""
    for left in folder.iterdir():
        left.unlink()
    for number, step in enumerate(steps):
        (folder / f"{number:04d}").write_text(str(step))


def count_deaths(folder: Path) -> int:
    """Return how many have died."""
    return len(list(folder.glob("*" + _DIED)))


class _Deaths:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._steps = 0
        self._path: Path | None = None
        self._last: int | None = None

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                if self._steps == 0:
                    self._take()
                self._steps += 1
                if self._steps == self._last and self._path is not None:
                    self._path.rename(self._path.with_suffix(_DIED))
                    os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return step

    def _take(self) -> None:
        for path in sorted(self._folder.iterdir()):
            if not path.suffix:
                with contextlib.suppress(FileNotFoundError):  # another was faster
                    self._path = path.rename(path.with_suffix(_TAKEN))
                    self._last = int(self._path.read_text())
                    return

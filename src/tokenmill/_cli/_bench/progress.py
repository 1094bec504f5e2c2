"""What runs now: one line on a terminal that changes, none in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CLEAR = "\r\x1b[K"


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows on stderr what runs now."""
    is_terminal = sys.stderr.isatty()
    begin = time.monotonic()

    def show(text: str) -> None:
        if is_terminal:
            sys.stderr.write(f"{_CLEAR}{time.monotonic() - begin:4.0f} s  {text}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if is_terminal:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()

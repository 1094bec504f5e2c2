"""Log: the lines that people see while datasets are tokenized, through the logger "tokenmill"."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass

_LOG = logging.getLogger("tokenmill")
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Log:
    """Logs messages of at least the level of the configuration.

    A level that the program has set on the logger counts too. If the program has not set up
    logging, lines go to stderr. The logger is left as it was.
    """

    level: str

    def debug(self, text: str) -> None:
        """Log details."""
        self._write(logging.DEBUG, text)

    def info(self, text: str) -> None:
        """Log choices and results."""
        self._write(logging.INFO, text)

    def warning(self, text: str) -> None:
        """Log what was left out, or could be better."""
        self._write(logging.WARNING, text)

    def _write(self, level: int, text: str) -> None:
        if level < logging.getLevelName(self.level):
            return
        with _LOCK:
            before = _LOG.level
            handler = None if _LOG.hasHandlers() else logging.StreamHandler(sys.stderr)
            if handler is not None:
                _LOG.addHandler(handler)
            _LOG.setLevel(before or level)
            try:
                _LOG.log(level, "%s", text)
            finally:
                _LOG.setLevel(before)
                if handler is not None:
                    _LOG.removeHandler(handler)

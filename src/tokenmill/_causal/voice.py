"""Voice: what people are told while datasets are tokenized, through the logger "tokenmill"."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass

_LOG = logging.getLogger("tokenmill")
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Voice:
    """Logs what has at least the level of the configuration.

    A level that the program has set on the logger counts, too. Where the program has set up no
    logging, lines go to stderr, so that they are seen. The logger is left as it was.
    """

    level: str

    def debug(self, text: str) -> None:
        """Say what only the curious want to know."""
        self._say(logging.DEBUG, text)

    def info(self, text: str) -> None:
        """Say what was chosen and done."""
        self._say(logging.INFO, text)

    def warning(self, text: str) -> None:
        """Say what was left out, or could be better."""
        self._say(logging.WARNING, text)

    def _say(self, level: int, text: str) -> None:
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

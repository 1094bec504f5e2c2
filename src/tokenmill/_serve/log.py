"""One line per start, stop and error, on stderr: plain, or JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


class ServeLog:
    """Writes events of a server; a request is not one."""

    def __init__(self, *, as_json: bool, who: str) -> None:
        self._as_json = as_json
        self._who = who

    def info(self, event: str, **facts: Any) -> None:
        """Write what happened."""
        self._write("info", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        """Write what went wrong."""
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: dict[str, Any]) -> None:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        if self._as_json:
            record = {"time": f"{moment}Z", "level": level, "from": self._who, "event": event}
            line = json.dumps({**record, "pid": os.getpid(), **facts}, default=str)
        else:
            told = "".join(f" {name}={value}" for name, value in facts.items())
            mark = "error: " if level == "error" else ""
            line = f"{moment}Z {self._who}: {mark}{event}{told}"
        # One call: lines of several processes do not mix.
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

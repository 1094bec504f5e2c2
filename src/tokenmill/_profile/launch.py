"""Runs a command and notes its exit status: samplers return their own, and talk on stdout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

_NOT_STARTED = 127  # what shells return


def main(arguments: list[str]) -> int:
    """Run a command: the file for its status, the numbers of its stdout and stderr, its words."""
    status, output, errors, *command = arguments
    try:
        process = subprocess.Popen(  # noqa: S603 -- the user's own command
            command, stdout=int(output), stderr=int(errors)
        )
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command gets it too, and ends in peace
        code = process.wait()
    except OSError as error:
        text = f"tokenmill: {command[0]}: cannot be started: {error.strerror}\n"
        os.write(int(errors), text.encode())
        code = _NOT_STARTED
    Path(status).write_text(str(code), encoding="ascii")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""tokenmill: this process becomes the command line, as a user would type it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Become `tokenmill pack`."""
    command = pack_command(json.load(sys.stdin))
    os.execv(sys.executable, command)  # noqa: S606  our own command, no shell


def pack_command(job: dict[str, Any]) -> list[str]:
    """Return the command of a job."""
    command = [sys.executable, "-m", "tokenmill", "pack", *job["inputs"]]
    command += ["--tokenizer", job["tokenizer"], "--eos", job["eos"]]
    command += ["--output", job["output"], "--workers", str(job["threads"])]
    if "max_document_bytes" in job:
        command += ["--max-document-bytes", str(job["max_document_bytes"])]
    if "memory_limit" in job:
        command += ["--memory-limit", job["memory_limit"]]
    return command


if __name__ == "__main__":
    main()

"""JSONL through kernels that are built with sanitizers: python -m tests.cuda.json_sanitized FOLDER.

A process of its own, because the library that watches memory must be loaded before any other.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from tests.cuda.json_run import JsonKernels, read_there
from tests.cuda.test_json_records import HOSTILE, SHORT
from tests.read.test_jsonl import mutate

from tokenmill._cuda.jsonl import JsonlRules


def main(folder: Path) -> None:
    """Hostile lines, whole and damaged, at the end of memory."""
    chance = random.Random("sanitized")  # noqa: S311
    kernels = JsonKernels(folder, 64, sanitize="address,undefined", shuffle=1)
    lines = [*SHORT, *HOSTILE]
    lines += [mutate(chance.choice(lines), chance) for _ in range(1500)]
    for field in ("text", "a.b.c"):
        for some in (lines, lines[:7], [b'{"text":"\\ud83d'], [b""]):
            rules = JsonlRules(field, 25, 400, replace_lone_surrogate=len(some) > 7)
            chunk = b"".join(line + b"\n" for line in some)
            assert kernels.read(chunk, rules, 32 * len(some)) == read_there(chunk, rules)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.write("clean\n")

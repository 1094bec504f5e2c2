"""Models that the cache does not have yet: compiled once, by a process that ends afterwards.

A worker that compiles a model keeps its memory: 250 MiB for a vocabulary of 262,144 tokens, in each
of them. One that maps the compiled file shares its pages, and takes 20 (log 2026-11-18, Zen 4).
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tokenmill._cache_folder import cache_folder
from tokenmill._model.known import find_known
from tokenmill._platform.folders import locked_folder

_COMPILE = "import sys, tokenmill; tokenmill.Tokenizer.load(sys.argv[1])"


def prepare_model(source: str) -> None:
    """See that the cache has the model of this source; other workers wait meanwhile.

    Nothing is raised: a source that cannot be compiled is an error when it is loaded.
    """
    home = cache_folder()
    if home is None:
        return
    try:
        Path(home).mkdir(parents=True, exist_ok=True)
    except OSError:  # loading works without a cache
        return
    with suppress(OSError), locked_folder(home):
        _compile_unknown(source)


def _compile_unknown(source: str) -> None:
    try:
        if find_known(source, None, None) is not None:
            return
    except (OSError, ValueError):  # of a damaged file: loading says so
        return
    command = [sys.executable, "-c", _COMPILE, source]
    subprocess.run(  # noqa: S603 -- our own interpreter, no shell
        command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip

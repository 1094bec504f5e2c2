"""Ctrl-C ends a command without a traceback: while it starts, while it works, and at its end."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# Sends the signal at the moment in which a module is looked for; that is the same on any machine.
_INTERRUPTED_AT = """
import os, signal, sys

class AtImport:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
        return None

sys.meta_path.insert(0, AtImport())
from tokenmill.__main__ import run
sys.argv = ["tokenmill", "count", os.devnull]
{before}
sys.exit(run())
"""


def run_until(module: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command that gets the signal when it imports a module."""
    code = _INTERRUPTED_AT.format(module=module, before=before)
    return subprocess.run(  # noqa: S603 -- ours
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("module", ["tokenmill._cli", "tokenmill._cli.bench", "tokenmill._errors"])
def test_while_it_starts(module: str) -> None:
    ended = run_until(module)
    assert (ended.returncode, ended.stderr, ended.stdout) == (-signal.SIGINT, "", "")


def test_while_it_works() -> None:
    ended = run_until("tokenmill._tokenizer")
    assert (ended.returncode, ended.stderr, ended.stdout) == (130, "", "")


def test_while_options_are_read() -> None:
    before = (
        "import argparse\n"
        "argparse.ArgumentParser.parse_args = lambda *_: os.kill(os.getpid(), signal.SIGINT)"
    )
    ended = run_until("", before)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_an_ignored_signal_stays_ignored() -> None:
    ended = run_until("tokenmill._cli", "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout

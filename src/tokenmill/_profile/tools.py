"""Profilers that may be installed: where they are, and why one cannot be used."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

_PROBE = "import time; time.sleep(0.4)"
_PROBE_SECONDS = 20
_RIGHTS = (
    "run as root, add the capability SYS_PTRACE to the container, or set "
    "kernel.yama.ptrace_scope to 0"
)


@dataclass(frozen=True)
class Tool:
    """A profiler: its program, or a line that says why it is not used."""

    program: str | None
    why_not: str = ""


def find_py_spy() -> Tool:
    """Find py-spy, and try whether the system lets it look at a child."""
    neighbour = Path(sys.executable).with_name("py-spy")
    program = str(neighbour) if neighbour.exists() else shutil.which("py-spy")
    if program is None:
        return Tool(None, "py-spy is not installed (pip install py-spy): no functions are shown")
    with TemporaryDirectory() as folder:
        command = [program, *py_spy_options(Path(folder) / "probe"), sys.executable, "-c", _PROBE]
        try:
            done = subprocess.run(  # noqa: S603 -- py-spy
                command, capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS
            )
        except subprocess.TimeoutExpired:
            return Tool(None, "py-spy hangs on this system: no functions are shown")
    if done.returncode == 0:
        return Tool(program)
    return Tool(None, _refusal(done.stderr))


def py_spy_options(output: Path) -> list[str]:
    """Return the arguments of py-spy before the command: folded stacks of all children."""
    return ["record", "--native", "--subprocesses", "--rate", "100", "--format", "raw",
            "--output", str(output), "--"]  # fmt: skip


def find_memray() -> Tool:
    """Find memray for this interpreter."""
    if find_spec("memray") is None:
        return Tool(None, "memray is not installed (pip install memray): no allocations are shown")
    return Tool(sys.executable)


def _refusal(errors: str) -> str:
    text = errors.lower()
    if "permission" in text or "ptrace" in text or "not permitted" in text:
        return f"py-spy may not trace processes here; {_RIGHTS}"
    lines = [line for line in errors.splitlines() if line.strip()]
    first = lines[0].removeprefix("Error: ") if lines else "no reason given"
    return f"py-spy failed: {first}"

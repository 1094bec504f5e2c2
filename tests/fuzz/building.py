"""The fuzz programs, built with sanitizers in a process of its own.

    python -m tests.fuzz.building FOLDER SANITIZERS PROGRAM...

The build takes minutes of two cores, and tests need one: it starts with the run (conftest.py), and
tests of other folders run meanwhile.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HANGS = 3600  # seconds after which a command that takes a minute has surely got stuck
# The tools of the build may live in the environment of this Python only.
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
_CANNOT = 77  # exit status: this compiler has no sanitizers
_SHOWN = 8000  # characters of what a failed build printed


class Build:
    """A build that has begun. What is built already is not built again."""

    def __init__(self, folder: Path, sanitizers: str, programs: tuple[str, ...]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._sanitizers = folder, sanitizers
        self._log = folder / "build.log"
        with self._log.open("wb") as log:
            # Children are ended with it: they are in the session that it starts.
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "tests.fuzz.building", str(folder), sanitizers, *programs],
                cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait(self) -> Path:
        """Return the folder of the programs once they are there."""
        status = self._process.wait(HANGS)
        if status == _CANNOT:
            pytest.skip(f"the C++ compiler cannot build with -fsanitize={self._sanitizers}")
        assert status == 0, self._log.read_text(errors="replace")[-_SHOWN:]
        return self._folder

    def stop(self) -> None:
        """End it if nobody has waited for it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(HANGS)


def main(folder: Path, sanitizers: str, programs: list[str]) -> int:
    """Configure and build, with less right to the processor than the tests."""
    os.nice(10)
    cmake = shutil.which("cmake", path=ENVIRONMENT["PATH"])
    if cmake is None:
        sys.exit("cmake is missing; it comes with the environment of `make test`")
    if not _has_sanitizers(folder, sanitizers):
        return _CANNOT
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=ENVIRONMENT["PATH"]) else []
    made = _run(
        cmake, "-S", ROOT, "-B", folder, *generator, "-DTOKENMILL_PYTHON=OFF",
        "-DTOKENMILL_TESTS=ON", f"-DTOKENMILL_SANITIZE={sanitizers}", "-DCMAKE_BUILD_TYPE=None",
        "-DCMAKE_CXX_FLAGS=-O1",
    )  # fmt: skip
    return made or _run(cmake, "--build", folder, "--target", *programs, "--parallel", "2")


def _has_sanitizers(folder: Path, sanitizers: str) -> bool:
    """Whether a program of a line can be built and run with them."""
    source, probe = folder / "probe.cpp", folder / "probe"
    source.write_text("int main() { return 0; }\n")
    compiler = os.environ.get("CXX", "c++")
    return _run(compiler, f"-fsanitize={sanitizers}", source, "-o", probe) == 0 == _run(probe)


def _run(*command: str | Path) -> int:
    return subprocess.run([str(part) for part in command], check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))

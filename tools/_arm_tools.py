"""The tools for other processors: what is missing and how to get it, and builds with zig."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("scalar", "neon")
PROGRAMS = ("encode_file", "fuzz_encode", "fuzz_read", "fuzz_threads", "fuzz_view", "fuzz_wire")
PLUGIN = ROOT / "tests" / "platform" / "count_instructions.c"
HINTS = {
    "zig": "pip install ziglang==0.17.0",
    "cmake": "pip install cmake",
    "ninja": "pip install ninja",
    "qemu-aarch64-static": "apt install qemu-user-static",
    "qemu-aarch64": "apt install qemu-user",  # the static one cannot load plugins
    "cc": "apt install gcc",
}


@dataclass(frozen=True)
class Tools:
    """Where the tools are, by their names."""

    paths: dict[str, str]

    def missing(self, *names: str) -> str:
        """Say which of these are missing and how to get them; empty if none is."""
        lost = [name for name in names if name not in self.paths]
        return "; ".join(f"{name} is missing; hint: {HINTS[name]}" for name in lost)


def find_tools() -> Tools:
    """Look in the environment of this Python first, then on the PATH."""
    paths = {}
    for name in HINTS:
        nearby = Path(sys.executable).with_name(name)
        found = str(nearby) if nearby.exists() else shutil.which(name)
        if name == "zig":
            found = _zig() or found
        if found is not None:
            paths[name] = found
    return Tools(paths)


def build(tools: Tools, folder: Path, programs: tuple[str, ...] = PROGRAMS) -> Path:
    """Cross-build programs for aarch64; what is built already is not built again.

    With musl, which is linked into the programs: qemu needs no library of the other system then.
    """
    wrapped = folder / "tools"
    wrapped.mkdir(parents=True, exist_ok=True)
    compiler = _wrap(tools, wrapped / "c++", "c++ -target aarch64-linux-musl")
    make = [f"-DCMAKE_MAKE_PROGRAM={tools.paths['ninja']}", "-G", "Ninja"]
    options = {
        "TOKENMILL_PYTHON": "OFF",
        "TOKENMILL_TESTS": "ON",
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": str(compiler),
        "CMAKE_CXX_COMPILER_LAUNCHER": "",  # zig keeps what it compiled itself
        "CMAKE_AR": str(_wrap(tools, wrapped / "ar", "ar")),
        "CMAKE_RANLIB": str(_wrap(tools, wrapped / "ranlib", "ranlib")),
    }
    defined = [f"-D{name}={value}" for name, value in options.items()]
    cmake = tools.paths["cmake"]
    _run(cmake, "-S", str(ROOT), "-B", str(folder), *make, *defined)
    _run(cmake, "--build", str(folder), "--parallel", "2", "--target", *programs)
    return folder


def build_plugin(tools: Tools, folder: Path) -> Path:
    """Compile the plugin of qemu that counts instructions."""
    out = folder / "libcount_instructions.so"
    _run(tools.paths["cc"], "-O2", "-shared", "-fPIC", str(PLUGIN), "-o", str(out))
    return out


def run_arm(
    tools: Tools, program: Path, *options: str, target: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program for aarch64 here."""
    command = [tools.paths["qemu-aarch64-static"], str(program), *options]
    environment = {name: text for name, text in os.environ.items() if name != "TOKENMILL_TARGET"}
    if target:
        environment["TOKENMILL_TARGET"] = target
    return subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, env=environment
    )


def _zig() -> str | None:
    """Return the program inside the package ziglang, if it is installed."""
    package = importlib.util.find_spec("ziglang")
    if package is None or package.origin is None:
        return None
    return str(Path(package.origin).with_name("zig"))


def _wrap(tools: Tools, path: Path, arguments: str) -> Path:
    """Write a script that is called like a compiler: cmake wants one program without arguments."""
    text = f'#!/bin/sh\nexec "{tools.paths["zig"]}" {arguments} "$@"\n'
    if not path.exists() or path.read_text() != text:  # a new one would build all again
        path.write_text(text)
        path.chmod(0o755)
    return path


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        tail = (done.stdout + done.stderr)[-5000:]
        sys.exit(f"{' '.join(command[:3])}: exit status {done.returncode}\n{tail}")

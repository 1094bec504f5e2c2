"""Build the npm package: tokenmill.wasm by the clang of `ziglang`, JavaScript by TypeScript.

python wasm/tools/build.py
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "wasm"
BUILD = ROOT / "build" / "wasm"
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def main() -> None:
    """Do what the module says."""
    build_module()
    npm = tool("npm", "install Node 18 or newer")
    if not (PACKAGE / "node_modules").exists():
        run(npm, "ci", "--no-audit", "--no-fund", folder=PACKAGE)
    run(npm, "run", "build", folder=PACKAGE)
    shutil.copy(BUILD / "wasm" / "native" / "tokenmill.wasm", PACKAGE / "dist")
    shutil.copy(ROOT / "LICENSE", PACKAGE)
    write_demo_model()


def build_module() -> None:
    """Configure and compile; CMake compiles only what changed."""
    cmake = tool("cmake", "make test sets up .venv with it")
    ninja = ["-G", "Ninja"] if shutil.which("ninja", path=ENVIRONMENT["PATH"]) else []
    run(
        cmake, "-S", ROOT, "-B", BUILD, *ninja, "-DTOKENMILL_PYTHON=OFF", "-DTOKENMILL_WASM=ON",
        "-DTOKENMILL_COUNTERS=OFF", f"-DZIG={zig()}",
        f"-DCMAKE_TOOLCHAIN_FILE={PACKAGE / 'native' / 'zig.cmake'}",
    )  # fmt: skip
    run(cmake, "--build", BUILD, "--parallel", str(os.cpu_count()))


def write_demo_model() -> None:
    """Compile the built-in tokenizer, which the demo page starts with."""
    from tokenmill._model.resolve import compile_file

    compile_file(None, PACKAGE / "demo" / "builtin.mill")


def zig() -> Path:
    """Return the compiler of the package `ziglang`."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        sys.exit("zig is missing; hint: pip install 'tokenmill[platforms]', or run `make wasm`")
    return Path(found.origin).parent / "zig"


def tool(name: str, hint: str) -> str:
    """Return the path of a program, or end with a hint."""
    path = shutil.which(name, path=ENVIRONMENT["PATH"])
    if path is None:
        sys.exit(f"{name} is missing; hint: {hint}")
    return path


def run(*command: object, folder: Path = ROOT) -> None:
    """Run a command; an exception if it fails."""
    words = [str(word) for word in command]
    subprocess.run(words, cwd=folder, env=ENVIRONMENT, check=True)  # noqa: S603


if __name__ == "__main__":
    main()

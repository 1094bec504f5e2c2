"""Builds the package in a way that is not shipped, next to the installed one; prints its folder.

    python benchmarks/build_package.py counters-off TOKENMILL_COUNTERS=OFF
    python benchmarks/build_package.py slowed TOKENMILL_SLOWED=5
    python benchmarks/build_package.py counters-on --layout 3

A layout is a number: the linker (lld) puts the functions in an order that follows from it. Where
code lies changes its speed by up to 2 %, so a small difference shows only over several layouts.

Put the folder into PYTHONPATH to use it. Building again compiles what has changed.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Build it and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="of the folder below build/")
    parser.add_argument("definitions", nargs="*", metavar="NAME=VALUE", help="for CMake")
    parser.add_argument("--layout", type=int, metavar="N", help="shuffle the functions")
    options = parser.parse_args()
    folder = ROOT / "build" / options.name
    given = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    given += [f"-D{definition}" for definition in options.definitions]
    if options.layout is not None:
        given.append("-DCMAKE_CXX_FLAGS=-ffunction-sections")
        shuffle = f"-fuse-ld=lld -Wl,--shuffle-sections=.text*={options.layout}"
        given.append(f"-DCMAKE_MODULE_LINKER_FLAGS={shuffle}")
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *given],
        ["cmake", "--build", str(folder), "--target", "_core", "-j", "2"],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 -- ours
    place = "package" if options.layout is None else f"layout-{options.layout}"
    package = folder / place / "tokenmill"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "tokenmill", package)
    module = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    shutil.copy2(folder / module, package / module)
    sys.stdout.write(f"{package.parent}\n")


if __name__ == "__main__":
    main()

"""The header, the program of docs/reference/c.md, and what is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.capi.library import BUILD, ENVIRONMENT, ROOT, STATUS, build, compiler

import tokenmill
from tokenmill import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.capi.library import Library

HEADER = ROOT / "include" / "tokenmill.h"
PAGE = ROOT / "docs" / "reference" / "c.md"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def run(*command: str | Path) -> str:
    done = subprocess.run(  # noqa: S603
        [str(part) for part in command], env=ENVIRONMENT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_header_is_c99_and_cpp(tmp_path: Path) -> None:
    source = tmp_path / "header.c"
    source.write_text('#include "tokenmill.h"\nint main(void) { return TOKENMILL_OK; }\n')
    include = f"-I{HEADER.parent}"
    run(compiler(), "-std=c99", *STRICT, include, "-fsyntax-only", source)
    cpp = (compiler("CXX", "c++"), "-std=c++11", "-x", "c++")
    run(*cpp, *STRICT, include, "-fsyntax-only", source)


def test_the_example_prints_ids_offsets_and_the_text(
    library_path: Path, small_mill: Path, tmp_path: Path
) -> None:
    program = re.search(r"```c\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert program is not None
    source, binary = tmp_path / "program.c", tmp_path / "program"
    source.write_text(program[1])
    run(
        compiler(), "-std=c99", *STRICT, f"-I{HEADER.parent}", source, library_path,
        f"-Wl,-rpath,{library_path.parent}", "-o", binary,
    )  # fmt: skip
    text = "Hello, caf\u00e9 \U0001f600"
    batch = Tokenizer.load(small_mill).encode_batch([text], offsets="byte")
    assert batch.spans is not None
    lines = [
        f"{token_id}: bytes {begin} to {end}"
        for token_id, (begin, end) in zip(batch.ids.tolist(), batch.spans.tolist(), strict=True)
    ]
    assert run(binary, small_mill, text).splitlines() == [*lines, text]
    failed = subprocess.run(  # noqa: S603
        [str(binary), str(source), text], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "not a compiled model" in failed.stderr


def test_only_functions_of_the_header_are_exported(library_path: Path) -> None:
    tool = shutil.which("nm")
    if tool is None:
        pytest.skip("no nm; hint: apt-get install binutils")
    lines = run(tool, "-D", "--defined-only", library_path.resolve()).splitlines()
    exported = {line.split()[-1].partition("@")[0] for line in lines}
    assert exported == declared()


def test_the_page_names_every_function_and_status() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in declared() if f"`{name}`" not in page] == []
    for name, number in STATUS.items():
        assert f"| `TOKENMILL_{name}` | {number} |" in page
        assert re.search(rf"TOKENMILL_{name} = {number}\b", HEADER.read_text(encoding="utf-8"))


def test_the_version_is_that_of_the_package(library: Library) -> None:
    assert library.c.tokenmill_version().decode() == tokenmill.__version__


def test_what_is_installed_can_be_found_by_pkg_config(library_path: Path, tmp_path: Path) -> None:
    cmake = shutil.which("cmake", path=ENVIRONMENT["PATH"])
    assert cmake is not None
    run(cmake, "--install", BUILD, "--component", "c", "--prefix", tmp_path)
    installed = {path.name for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()}
    name = library_path.name
    assert installed >= {"tokenmill.h", "tokenmill.pc", name, f"{name}.0.1", f"{name}.0.1.0"}
    found = next(tmp_path.rglob("tokenmill.pc")).read_text()
    assert f"Version: {tokenmill.__version__}" in found
    assert "-ltokenmill" in found


@pytest.mark.slow
def test_the_example_leaks_nothing_under_sanitizers(small_mill: Path, tmp_path: Path) -> None:
    folder = ROOT / "build" / "capi-asan"
    flags = ("-DTOKENMILL_SANITIZE=address,undefined", "-DCMAKE_BUILD_TYPE=Debug")
    path = build(folder, *flags)
    source, binary = ROOT / "tests" / "capi" / "every_call.c", tmp_path / "every_call"
    run(
        compiler(), "-std=c99", "-g", "-fsanitize=address,undefined", f"-I{HEADER.parent}", source,
        path, f"-Wl,-rpath,{folder}", "-o", binary,
    )  # fmt: skip
    assert run(binary, small_mill).splitlines()[-1] == "every call was made"


def declared() -> set[str]:
    text = HEADER.read_text(encoding="utf-8")
    return set(re.findall(r"^TOKENMILL_API[^;(]*?\b(tokenmill_\w+)\(", text, re.MULTILINE))

"""The face: names, a light import, a stub that equals the module, errors that are mapped."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import tokenmill
from tokenmill import _errors

ROOT = Path(__file__).resolve().parent.parent


def run_python(code: str) -> str:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("name", tokenmill.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tokenmill, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(tokenmill, "nothing")  # noqa: B009 -- a type checker would refuse the plain form


def test_dir_lists_the_public_names() -> None:
    assert dir(tokenmill) == sorted(tokenmill.__all__)


def test_every_error_is_public() -> None:
    errors = {
        name
        for name, value in vars(_errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    assert errors <= set(tokenmill.__all__)


def test_importing_imports_numpy_at_most() -> None:
    code = (
        "import sys, tokenmill; before = set(sys.modules); tokenmill.Tokenizer.load();"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = set(run_python(code).split())
    heavy = {"torch", "pyarrow", "transformers", "tokenizers", "tiktoken", "datasets", "pandas"}
    assert loaded & heavy == set()
    assert "numpy" not in run_python("import sys, tokenmill; print(*sys.modules)").split()


def test_the_stub_equals_the_module() -> None:
    pytest.importorskip("nanobind.stubgen", reason="nanobind is a tool of the build")
    generate = runpy.run_path(str(ROOT / "tools" / "gen_stub.py"))["generate"]
    stub = ROOT / "src" / "tokenmill" / "_core.pyi"
    assert stub.read_text() == generate(), "hint: python tools/gen_stub.py"


def test_every_error_code_has_an_exception() -> None:
    header = (ROOT / "core" / "base" / "error.h").read_text()
    body = re.search(r"enum class ErrorCode[^{]*\{(.*?)\};", header, re.DOTALL)
    assert body is not None
    codes = set(re.findall(r"^\s*(\w+)\s*(?:=\s*\d+)?,", body[1], re.MULTILINE)) - {"Ok"}
    mapping = (ROOT / "bind" / "errors.cpp").read_text()
    assert "default:" not in mapping
    assert {code for code in codes if f"ErrorCode::{code}" not in mapping} == set()


def test_loaders_and_command_line_never_touch_the_core() -> None:
    package = ROOT / "src" / "tokenmill"
    files = [package / "_errors.py"]
    files += [
        p for room in ("_cli", "_load", "_spec", "_unicode") for p in (package / room).rglob("*.py")
    ]
    assert [str(file) for file in files if "_core" in imported_names(file)] == []


def imported_names(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {part for alias in node.names for part in alias.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names} | set((node.module or "").split("."))
    return names


def test_the_version_has_a_section_in_the_changelog() -> None:
    assert f"## [{tokenmill.__version__}]" in (ROOT / "CHANGELOG.md").read_text()

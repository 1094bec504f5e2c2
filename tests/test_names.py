"""One thing, one name; one name, one thing: and no function that takes or does too much."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tokenmill"
MAX_POSITIONAL = 8
MAX_FUNCTION_LINES = 60
# A room is in one stack; `compat` repeats the names of the libraries that it stands in for.
ENGINE = {
    "_cache", "_calls", "_compile", "_cuda", "_decode", "_load", "_model", "_post", "_reference",
    "_spec", "_chat", "_tokenizer", "_unicode", "cuda",
}  # fmt: skip
MILL = {
    "_bench", "_causal", "_cli", "_dataset", "_files", "_mill", "_mirror", "_pack", "_profile",
    "_read", "_serve", "_service", "_store", "_tune", "_write",
}  # fmt: skip
SHARED = {
    "_advice", "_cache_folder", "_checks", "_config", "_errors", "_hints", "_lazy", "_machine",
    "_numbers", "_page", "_platform", "_record", "_stats", "_timeline",
}  # fmt: skip
FACES = {"__init__", "__main__", "compat", "ray_serve"}


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def python_files(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file, ast.parse(file.read_text(encoding="utf-8"))


def test_every_room_is_in_a_stack_or_shared() -> None:
    rooms = {
        room_of(path)
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms == ENGINE | MILL | SHARED | FACES


@pytest.mark.parametrize("stack", [ENGINE | SHARED, MILL | SHARED], ids=["engine", "mill"])
def test_no_class_name_occurs_twice_in_a_stack(stack: set[str]) -> None:
    places = defaultdict(list)
    for file, tree in python_files("src/tokenmill"):
        if room_of(file) in stack:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


CPP_TYPE = re.compile(
    r"^[ ]*(?:template <[^>]*> )?(?:struct|class|enum class|union) (?:\[\[\w+\]\] )?"
    r"(?:alignas\(\w+\) )?(\w+)(?: final)?(?: : [^{;]*)? \{",
    re.MULTILINE,
)
# Each target has its own: the same text is compiled once per instruction set.
PER_TARGET = {"BitQueue", "Codes3", "Lanes", "Quarters", "Table128", "Table64"}


def cpp_places(*folders: str) -> dict[str, set[str]]:
    places = defaultdict(set)
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in {".h", ".cpp", ".cu"}:
                for name in CPP_TYPE.findall(file.read_text(encoding="utf-8")):
                    places[name].add(str(file.relative_to(ROOT)))
    return places


def test_no_type_of_the_core_has_the_name_of_another() -> None:
    places = cpp_places("core", "bind")
    assert len(places) > 100  # the pattern still finds them
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in PER_TARGET} == {}


def test_no_type_of_the_kernels_has_the_name_of_another() -> None:
    places = cpp_places("src/tokenmill/_cuda/kernels")
    assert places
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def test_nothing_takes_more_than_eight_positional_parameters() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{function.lineno} {function.name}"
        for file, tree in python_files("src", "tests", "tools", "benchmarks", "examples")
        for function in functions(tree)
        if len(function.args.posonlyargs) + len(function.args.args) > MAX_POSITIONAL
    ]
    assert wrong == []


def test_functions_stay_short() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{function.lineno} {function.name}"
        for file, tree in python_files("src", "tests", "tools", "benchmarks", "examples")
        for function in functions(tree)
        if (function.end_lineno or 0) - function.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert wrong == []

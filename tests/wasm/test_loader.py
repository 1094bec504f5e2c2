"""The npm package makes of every tokenizer.json what Python makes of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest
from tests.load.sources import gpt2_json, tokenizer_json
from tests.vocabularies import json_file
from tests.wasm import sources
from tests.wasm.definitions import (
    MODULE,
    ROOT,
    Asked,
    compare,
    package_fields,
    python_fields,
)
from tests.wasm.sections import POST_PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package compiled from its sources, so that no old build is tested."""
    compiler = ROOT / "node_modules" / ".bin" / "tsc"
    if shutil.which("node") is None:
        pytest.skip("node is missing; hint: apt-get install nodejs npm, or see nodejs.org")
    if not compiler.exists():
        pytest.skip("the TypeScript compiler is missing; hint: npm ci --prefix wasm")
    out = tmp_path_factory.mktemp("package")
    (out / "package.json").write_text('{"type": "module"}')
    command = [str(compiler), "-p", str(ROOT / "tsconfig.json"), "--outDir", str(out)]
    subprocess.run(command, check=True)  # noqa: S603
    return out


@pytest.fixture(scope="module")
def package_with_module(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the engine, which compiles the definitions."""
    module = ROOT / "dist" / MODULE
    if not module.exists():
        pytest.skip("wasm/dist/tokenmill.wasm is missing; hint: make wasm")
    out = tmp_path_factory.mktemp("module") / "package"
    shutil.copytree(package, out)
    shutil.copy(module, out)
    return out


def assert_same(files: Mapping[str, bytes], package: Path) -> None:
    found = compare(files, package)
    assert not found, "\n".join(str(difference) for difference in found[:10])


def test_every_section_alone(package: Path) -> None:
    assert_same(sources.each_section(), package)


def test_patterns_in_use(package: Path) -> None:
    assert_same(sources.patterns_in_use(), package)


def test_every_set_of_code_points(package: Path) -> None:
    assert_same(sources.every_set(), package)


def test_every_character_is_written_as_python_does(package: Path) -> None:
    generated = (ROOT / "src/unicode/generated/sets.ts").read_text(encoding="ascii")
    if f"in Unicode {unicodedata.unidata_version}." not in generated:
        pytest.skip("the table is of another version of Unicode than that of this Python")
    assert_same({"all characters": sources.every_character()}, package)


def test_sections_mixed(package: Path) -> None:
    assert_same(sources.mixed(80, seed=1), package)


def test_wrong_members_are_the_same_errors(package: Path) -> None:
    assert_same(sources.wrong(150, seed=2), package)


def test_broken_text_is_the_same_error(package: Path) -> None:
    assert_same(sources.broken(150, seed=3), package)


@pytest.mark.parametrize("seed", [5, 6])
def test_tokens_that_are_normalized_to_nothing(seed: int, package: Path) -> None:
    assert_same(sources.vanishing(80, seed), package)


def test_random_patterns(package: Path) -> None:
    assert_same(sources.patterns(200, seed=4), package)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "deepseek"])
def test_genuine_vocabularies(name: str, package: Path) -> None:
    source = json.dumps(gpt2_json()).encode() if name == "gpt2" else json_file(name).read_bytes()
    assert_same({name: source}, package)


def test_compiled_models_are_the_same_bytes(package_with_module: Path) -> None:
    assert_same(sources.patterns_in_use(), package_with_module)
    assert_same(sources.mixed(25, seed=8), package_with_module)
    assert_same({"llama3": json_file("llama3").read_bytes()}, package_with_module)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_many_more_of_all_kinds(seed: int, package: Path) -> None:
    assert_same(sources.mixed(600, seed), package)
    assert_same(sources.wrong(600, seed), package)
    assert_same(sources.broken(600, seed), package)
    assert_same(sources.patterns(1500, seed), package)
    assert_same(sources.vanishing(1500, seed), package)


def test_one_other_byte_is_a_difference(package: Path) -> None:
    """The comparison can fail: one more id at the end of a text shows."""
    bare = json.dumps(tokenizer_json()).encode()
    framed = json.dumps(tokenizer_json(post_processor=POST_PROCESSORS[4])).encode()
    asked = Asked()
    ours = python_fields(bare, "x", asked)
    theirs = package_fields({"x": framed}, asked, package, 60)["x"]
    assert {key for key in ours if ours[key] != theirs[key]} == {
        "meta",
        "prefix_ids",
        "source",
        "suffix_ids",
    }


def test_sets_of_code_points_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "gen_unicode.py"), "--check"]
    found = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    assert found.returncode == 0, found.stderr

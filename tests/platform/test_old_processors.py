"""The package on processors without AVX-512 or AVX2, played by qemu: what it picks, and its ids."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.platform.many_threads import make_texts

import tokenmill
from tokenmill._tokenizer import compile_file

PROGRAM = """
import json, sys
import tokenmill
tokenizer = tokenmill.Tokenizer.load(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    texts = json.load(file)
print(json.dumps({
    "target": tokenizer._model.target,
    "one": [tokenizer.encode(text).tolist() for text in texts],
    "batch": [row.tolist() for row in tokenizer.encode_batch(texts, threads=2)],
    "text": [tokenizer.decode(tokenizer.encode(text)) for text in texts],
}))
"""
# Nehalem has SSE4.2 and no AVX; Haswell has AVX2. qemu plays no AVX-512.
# The library that numpy multiplies with takes some of its models for newer ones.
USUAL = {"OPENBLAS_CORETYPE": "Nehalem"}
TARGETS = {"Nehalem": "scalar", "SandyBridge": "scalar", "Haswell": "avx2"}


@pytest.fixture(scope="module")
def qemu() -> str:
    found = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if os.uname().machine != "x86_64":
        pytest.skip("the package is not built for x86-64 here")
    if found is None:
        pytest.skip("no qemu-x86_64: apt-get install qemu-user-static")
    return found


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A compiled model and texts; both are made by this processor."""
    folder = tmp_path_factory.mktemp("old")
    compile_file(None, folder / "model.mill")
    texts = [*make_texts(5)[:60], "caf\u00e9 " * 300, "\u4f60\u597d" * 300]
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return folder / "model.mill", folder / "texts.json"


def run(command: list[str], source: tuple[Path, Path], **environment: str) -> dict[str, Any]:
    python = str(Path(sys.executable))
    given = {name: value for name, value in os.environ.items() if name != "TOKENMILL_TARGET"}
    done = subprocess.run(  # noqa: S603
        [*command, python, "-c", PROGRAM, *map(str, source)],
        check=False, capture_output=True, text=True, env={**given, **USUAL, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("cpu", TARGETS)
def test_the_best_target_of_the_processor_is_picked_and_is_right(
    cpu: str, qemu: str, source: tuple[Path, Path]
) -> None:
    found = run([qemu, "-cpu", cpu], source)
    assert found.pop("target") == TARGETS[cpu]
    texts = json.loads(source[1].read_text(encoding="utf-8"))
    tokenizer = tokenmill.Tokenizer.load(source[0])
    ids = [tokenizer.encode(text).tolist() for text in texts]
    assert found == {"one": ids, "batch": ids, "text": texts}


def test_a_processor_without_a_target_says_so(qemu: str, source: tuple[Path, Path]) -> None:
    """What is asked for is not run where it would be an illegal instruction."""
    with pytest.raises(AssertionError, match="avx2"):
        run([qemu, "-cpu", "Nehalem"], source, TOKENMILL_TARGET="avx2")

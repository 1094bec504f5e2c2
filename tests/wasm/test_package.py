"""The npm package: built by `make wasm`, it has the ids of Python; what is packed is complete."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "wasm"
MODULE = PACKAGE / "dist" / "tokenmill.wasm"


@pytest.fixture(scope="module")
def node() -> str:
    """Node, where there is a module that it can run."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is missing; hint: install Node 18 or newer")
    if not MODULE.exists():
        pytest.skip("wasm/dist/tokenmill.wasm is missing; hint: make wasm")
    return found


def run(*command: object, **variables: str) -> str:
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command], cwd=PACKAGE, env={**os.environ, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_package_passes_its_own_tests_with_answers_of_python(node: str, tmp_path: Path) -> None:
    run(sys.executable, PACKAGE / "tools" / "write_expected.py", tmp_path)
    out = run(node, "--test", "tests/", TOKENMILL_EXPECTED=str(tmp_path))
    assert "# fail 0" in out
    assert "# skipped 0" in out


def test_the_lock_names_no_registry() -> None:
    text = (PACKAGE / "package-lock.json").read_text(encoding="utf-8")
    assert "http" not in text
    assert (
        json.loads(text)["packages"][""]["version"]
        == json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    )


def test_the_version_is_that_of_python() -> None:
    import tokenmill

    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == tokenmill.__version__
    assert "dependencies" not in package

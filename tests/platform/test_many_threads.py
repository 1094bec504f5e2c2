"""Many threads on the same tokenizers: under this interpreter, and under one without a GIL."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import small_definition

from tokenmill._tokenizer import compile_file

PROGRAM = Path(__file__).with_name("many_threads.py")
VARIABLE = "TOKENMILL_FREE_THREADED_PYTHON"
NAMES = ("python3.14t", "python3.13t")
IMPORTS = """
import sys
for name in sys.argv[1:]:
    __import__(name)
tokenizer = sys.modules["tokenmill"].Tokenizer.load()
assert tokenizer.encode("hello").tolist() == tokenizer.encode_batch(["hello"])[0].tolist()
print(sys._is_gil_enabled())
"""
FIRST = """
import sys, threading
from tokenmill import _core
from tokenmill._model.file import open_model
model = _core.Model(open_model(sys.argv[1]).payload)
assert "numpy" not in sys.modules
sys.setswitchinterval(1e-6)
barrier = threading.Barrier(8)
def call():
    barrier.wait()
    assert model.encode("hello world").tolist()
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three tokenizers that give different ids."""
    definition = small_definition()
    (tmp_path / "a.json").write_text(json.dumps(definition))
    definition["model"]["merges"] = definition["model"]["merges"][:4]
    (tmp_path / "b.json").write_text(json.dumps(definition))
    definition["pre_tokenizer"]["add_prefix_space"] = True
    (tmp_path / "c.json").write_text(json.dumps(definition))
    return tmp_path


def run(python: str, folder: Path, rounds: int, **environment: str) -> dict[str, Any]:
    command = [python, str(PROGRAM), str(folder), "--rounds", str(rounds)]
    given = {**os.environ, "TOKENMILL_CACHE": str(folder / "cache"), **environment}
    done = subprocess.run(  # noqa: S603
        command, check=False, capture_output=True, text=True, env=given, timeout=600
    )
    lines = done.stdout.splitlines()
    assert lines, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    report: dict[str, Any] = json.loads(lines[-1])
    return report


@pytest.fixture(scope="module")
def without_gil() -> str:
    """Return an interpreter without a GIL that has the package."""
    python = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)
    if python is None:
        pytest.skip(f"no free-threaded Python: put {' or '.join(NAMES)} on the PATH, or name it "
                    f"in {VARIABLE}")  # fmt: skip
    check = [python, "-c", "import tokenmill, numpy, pyarrow"]
    found = subprocess.run(check, check=False, capture_output=True, text=True)  # noqa: S603
    if found.returncode:
        pytest.skip(f"{python} has no tokenmill: {python} -m pip install . "
                    f"({found.stderr.strip().splitlines()[-1]})")  # fmt: skip
    return python


def test_many_threads_get_the_ids_that_one_gets(folder: Path) -> None:
    report = run(sys.executable, folder, rounds=6)
    assert report["wrong"] == []
    assert min(report["calls"].values()) >= 4 * 6


def test_many_threads_get_the_ids_that_one_gets_without_a_gil(
    folder: Path, without_gil: str
) -> None:
    report = run(without_gil, folder, rounds=40, PYTHON_GIL="0")
    assert report["gil"] is False
    assert report["wrong"] == []


def test_importing_leaves_the_gil_off(without_gil: str) -> None:
    """A module that does not declare that it can do without switches the GIL on, for good."""
    names = ["tokenmill", "tokenmill._core", "tokenmill._mill.pack", "tokenmill._service"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run(  # noqa: S603
        [without_gil, "-W", "error", "-c", IMPORTS, *names],
        check=False, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("False", "")


@pytest.mark.parametrize("has_gil", [True, False])
def test_the_first_calls_of_many_threads_do_not_wait_for_each_other(
    has_gil: bool, folder: Path, request: pytest.FixtureRequest
) -> None:
    """Each of them imports numpy, and none has the GIL while it waits."""
    compile_file(folder / "a.json", folder / "a.mill")
    python = sys.executable if has_gil else request.getfixturevalue("without_gil")
    subprocess.run(  # noqa: S603
        [python, "-c", FIRST, str(folder / "a.mill")], check=True, timeout=120
    )

"""What a short job imports: its start is most of its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"text": f"some words, and number {i}", "id": i} for i in range(50)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


@pytest.fixture
def pandas_trap(tmp_path: Path) -> Path:
    """A package `pandas` that leaves a file next to it when it is imported."""
    package = tmp_path / "trap" / "pandas"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from pathlib import Path\n"
        "Path(__file__).with_name('imported').touch()\n"
        "raise ImportError('not the real one')\n"
    )
    return package


def run(code: str, pandas_trap: Path) -> set[str]:
    """Run a program where pandas is a trap; return the modules that it has imported."""
    paths = [str(pandas_trap.parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    listing = "\nimport sys; print(*sys.modules, file=sys.stderr)"
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", code + listing],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return set(result.stderr.split())


def is_imported(pandas_trap: Path) -> bool:
    return (pandas_trap / "imported").exists()


def test_the_trap_catches(pandas_trap: Path) -> None:
    run("import pyarrow; pyarrow.array([1])", pandas_trap)
    assert is_imported(pandas_trap)


def write_input(path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif path.suffix == ".zst":
        path.write_bytes(zstd.compress(LINES))
    else:
        path.write_bytes(LINES)


@pytest.mark.parametrize("form", ["bin", "parquet", "arrow", "npy"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst", "a.parquet"])
def test_pack_never_imports_pandas(pandas_trap: Path, tmp_path: Path, name: str, form: str) -> None:
    write_input(tmp_path / name)
    command = ["pack", str(tmp_path / name), "-o", str(tmp_path / "out"), "--quiet"]
    command += ["--format", form, "--context-length", "32", "--workers", "1"]
    modules = run(f"from tokenmill._cli import main; assert not main({command})", pandas_trap)
    assert (tmp_path / "out" / "manifest.json").exists()
    assert not is_imported(pandas_trap)
    assert modules & {"pandas", "yaml", "rich", "torch", "tokenizers", "transformers"} == set()


def test_verify_and_inspect_never_import_pandas(pandas_trap: Path, tmp_path: Path) -> None:
    write_input(tmp_path / "a.jsonl")
    out = str(tmp_path / "out")
    run(
        "from tokenmill._cli import main\n"
        f"main(['pack', {str(tmp_path / 'a.jsonl')!r}, '-o', {out!r}, '--quiet'])\n"
        f"assert not main(['verify', {out!r}])\nassert not main(['inspect', {out!r}])",
        pandas_trap,
    )
    assert not is_imported(pandas_trap)


def test_ids_need_neither_specs_nor_decoders(pandas_trap: Path, tmp_path: Path) -> None:
    """A process that finds its model in the cache and encodes."""
    code = (
        f"import os; os.environ['TOKENMILL_CACHE'] = {str(tmp_path / 'cache')!r}\n"
        "from tokenmill import Tokenizer; t = Tokenizer.load()\n"
        "assert len(t.encode('hello')) and t.encode_batch(['a', 'b']).ids.size"
    )
    run(code, pandas_trap)
    modules = run(code, pandas_trap)
    assert not is_imported(pandas_trap)
    unused = {"logging", "tempfile", "lzma", "zlib", "pyarrow", "hashlib"}
    rooms = ("_spec", "_compile", "_reference", "_post", "_unicode", "_decode.chain", "_mill")
    ours = {name for name in modules if name.startswith("tokenmill.")}
    assert modules & unused - set(sys.builtin_module_names) == set()
    assert {
        name for name in ours if name.startswith(tuple(f"tokenmill.{r}" for r in rooms))
    } == set()


def test_a_known_file_needs_hardly_any_imports(pandas_trap: Path, tmp_path: Path) -> None:
    """The second process that loads a tokenizer and encodes: numpy, for the ids, is the rest."""
    source = tmp_path / "tokenizer"
    code = (
        f"import os; os.environ['TOKENMILL_CACHE'] = {str(tmp_path / 'cache')!r}\n"
        "import numpy; from tokenmill import Tokenizer\n"
    )
    make = (
        f"Tokenizer.load().save({str(source / 'tokenizer.json')!r})\n"
        "from tokenmill._model import seen; seen._SETTLED_NS = -1\n"
        f"Tokenizer.load({str(source)!r})"
    )
    source.mkdir()
    run(code + make, pandas_trap)
    use = f"assert len(Tokenizer.load({str(source)!r}).encode('hello', add_special_tokens=True))"
    before = run("import numpy", pandas_trap)
    added = run(code + use, pandas_trap) - before
    assert not is_imported(pandas_trap)
    ours = {name for name in added if name.startswith("tokenmill")}
    rooms = ("_calls", "_decode", "_post", "_spec", "_compile", "_reference", "_model.resolve")
    assert not [name for name in ours if name.startswith(tuple(f"tokenmill.{r}" for r in rooms))]
    slow = {
        "pathlib", "json", "dataclasses", "urllib.parse", "logging", "tempfile", "threading",
        "pyarrow",
    }  # fmt: skip
    assert added & slow == set()
    assert len(added - ours) <= 12, sorted(added - ours)


def test_a_batch_imports_nothing_but_our_own(pandas_trap: Path, tmp_path: Path) -> None:
    """The first `encode_batch` took 6.7 ms: pathlib and dataclasses were most of it."""
    code = (
        f"import os; os.environ['TOKENMILL_CACHE'] = {str(tmp_path / 'cache')!r}\n"
        "import numpy; from tokenmill import Tokenizer; t = Tokenizer.load()\n"
    )
    run(code, pandas_trap)
    before = run(code + "t.encode('hello')", pandas_trap)
    added = run(code + "assert t.encode_batch(['hello']).ids.size", pandas_trap) - before
    assert {name for name in added if not name.startswith("tokenmill.")} == set()
    assert len(added) <= 8, sorted(added)


def test_the_first_call_waits_for_no_import(pandas_trap: Path, tmp_path: Path) -> None:
    code = (
        f"import os; os.environ['TOKENMILL_CACHE'] = {str(tmp_path / 'cache')!r}\n"
        "from tokenmill import Tokenizer; t = Tokenizer.load()\n"
    )
    run(code, pandas_trap)
    loaded = run(code, pandas_trap)
    assert "numpy" in loaded
    assert run(code + "t.encode('hello'); t.count('hello')", pandas_trap) == loaded
    assert "numpy" not in run("import tokenmill", pandas_trap)

"""The user functions of the guide for Ray Data and Daft: they run, and give the same ids."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenmill import Tokenizer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of both libraries, and of what they start
]
GUIDE = Path(__file__).parents[2] / "docs/guides/many-machines.md"
TEXTS = ["", "hello world", "caf\u00e9 \U0001f600 </s>", " two  spaces\n"]


def sketch(library: str) -> str:
    """Return the code of the guide that imports a library."""
    found = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (code,) = [code for code in found if f"import {library}\n" in code]
    return str(code)


@pytest.fixture
def folder(tmp_path: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "tokenizer.json").write_bytes(small_json.read_bytes())
    for number in range(3):
        texts = [f"{text} {number} {i}" for i in range(500) for text in TEXTS]
        table = pa.table({"id": [number * 10_000 + i for i in range(len(texts))], "text": texts})
        pq.write_table(table, tmp_path / f"corpus/{number}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(folder: Path) -> None:
    made = pq.read_table(folder / "ids").sort_by("id")
    assert made.num_rows == 3 * 500 * len(TEXTS)
    expected = Tokenizer.load(folder / "tokenizer.json").encode_batch(made["text"].to_pylist())
    assert made["ids"].to_pylist() == expected.tolist()


def test_ray_data(folder: Path) -> None:
    ray = pytest.importorskip("ray", reason="200 MB: pip install 'tokenmill[ray]'")
    pytest.importorskip("pandas", reason="Ray Data needs it")
    ray.init("local", num_cpus=3, include_dashboard=False, configure_logging=False)
    try:
        exec(compile(sketch("ray"), str(GUIDE), "exec"), {"__name__": "guide"})  # noqa: S102
    finally:
        ray.shutdown()
    check(folder)


def test_daft(folder: Path) -> None:
    pytest.importorskip("daft", reason="170 MB: pip install daft")
    exec(compile(sketch("daft"), str(GUIDE), "exec"), {"__name__": "guide"})  # noqa: S102
    check(folder)

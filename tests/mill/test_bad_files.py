"""Files that cannot be read, if the run is to continue without them."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mill.outputs import digests
from tests.mill.tuned import shrink

from tokenmill._errors import InputError
from tokenmill._mill.pack import pack
from tokenmill._mill.run.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Manifest, Tokenizer
    from tokenmill._mill.output.parts import PartRecord

TEXTS = [f"hello world {n} " * (n % 9 + 1) for n in range(400)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that can be read, and some that cannot, in their middle or at all."""
    raw = tmp_path / "raw"
    raw.mkdir()
    for number in range(0, 6, 2):
        (raw / f"{number}.jsonl.gz").write_bytes(gzip.compress(lines()))
    cut = gzip.compress(lines(), compresslevel=1)
    (raw / "1.cut.jsonl.gz").write_bytes(cut[: len(cut) * 3 // 4])
    (raw / "3.gone.jsonl").symlink_to(raw / "nowhere")
    (raw / "5.other.csv").write_text("title\nhello\n")
    damaged = bytearray(gzip.compress(lines(), compresslevel=1))
    damaged[len(damaged) // 2] ^= 0xFF
    (raw / "7.bits.jsonl.gz").write_bytes(damaged)
    return raw


def lines() -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()


def run(folder: Path, output: Path, tokenizer: Tokenizer, workers: int = 2) -> Manifest:
    options: dict[str, Any] = {"context_length": 64, "field": "text"}
    policies: dict[str, Any] = {"bad_file": "quarantine"}
    return pack(
        folder, output=output, tokenizer=tokenizer, workers=workers, on_bad=policies, **options
    )


def test_by_default_a_damaged_file_is_an_error(
    folder: Path, tmp_path: Path, small: Tokenizer
) -> None:
    (folder / "3.gone.jsonl").unlink()
    with pytest.raises(InputError, match=r"7\.bits|1\.cut"):
        pack(folder, output=tmp_path / "out", tokenizer=small, context_length=64, field="text")


@pytest.mark.parametrize("workers", [1, 3])
def test_files_that_fail_are_left_out_whole_and_named(
    folder: Path, tmp_path: Path, small: Tokenizer, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    shrink(monkeypatch.setattr)
    manifest = run(folder, tmp_path / "out", small, workers)
    assert manifest.documents["out"] == 3 * len(TEXTS)
    assert manifest.documents["skipped"] == {"bad_file": 4}
    records = map(json.loads, (tmp_path / "out" / "quarantine.jsonl").read_text().splitlines())
    assert [record["file"].rpartition("/")[2] for record in records] == [
        "1.cut.jsonl.gz",
        "3.gone.jsonl",
        "5.other.csv",
        "7.bits.jsonl.gz",
    ]
    whole = pack(
        [folder / f"{number}.jsonl.gz" for number in (0, 2, 4)],
        output=tmp_path / "whole",
        tokenizer=small,
        context_length=64,
        field="text",
    )
    for shard, other in zip(manifest.shards, whole.shards, strict=True):
        assert shard["checksum"] == other["checksum"]


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_a_run_that_was_stopped_comes_to_the_same(
    folder: Path, tmp_path: Path, small: Tokenizer, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    shrink(monkeypatch.setattr)
    run(folder, tmp_path / "once", small)
    left, committed = [parts], Run._committed

    def stop(self: Run, record: PartRecord) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("stopped")
        return committed(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_committed", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            run(folder, tmp_path / "out", small)
    run(folder, tmp_path / "out", small)
    assert digests(tmp_path / "out") == digests(tmp_path / "once")


def test_of_a_table_the_span_with_the_damage_is_left_out(
    tmp_path: Path, small: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch.setattr)
    path = tmp_path / "a.parquet"
    texts = [random.Random(n).randbytes(200).hex() for n in range(400)]  # noqa: S311
    table = pa.table({"text": texts})
    pq.write_table(table, path, row_group_size=100, compression="gzip", write_statistics=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    place = column.dictionary_page_offset + column.total_compressed_size // 2
    body = bytearray(path.read_bytes())
    body[place : place + 40] = bytes(40)
    path.write_bytes(body)
    manifest = run(path, tmp_path / "out", small)
    assert manifest.documents["skipped"] == {"bad_file": 1}
    assert manifest.documents["out"] == 300

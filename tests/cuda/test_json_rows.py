"""Rows from raw JSONL that a device reads, against the mill's: files of every kind, any cut."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.test_row_dataset import COLUMNS, COMMON, assert_equal, tables
from tests.mill.corpus import Corpus, dirty_corpus
from tests.mill.outputs import BOS

from tokenmill import BadRecordFound, PackedDataset, SpecialTokenInText, pack
from tokenmill._cuda.encoder import GpuEncoder
from tokenmill._mill.device.rows import DeviceRowStream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cuda.conftest import Bench

    from tokenmill import Tokenizer


class Device:
    """A tokenizer, and the same on a device that counts the bytes it gets."""

    def __init__(self, bench: Bench) -> None:
        self.tokenizer: Tokenizer = bench.tokenizer
        self.gpu = bench.gpu()
        self.encoder = GpuEncoder(self.gpu)

    def rows(self, inputs: Any, **options: Any) -> DeviceRowStream:
        given = {"context_length": 32, "columns": COLUMNS, "threads": 2, **COMMON, **options}
        given = {"batch_bytes": 1 << 16, **given}
        return DeviceRowStream(inputs, self.tokenizer, encoder=self.encoder, **given)

    def tables(self, rows: DeviceRowStream) -> dict[str, Any]:
        """Return all rows, once the device has made them."""
        found = []
        for batch in rows:
            to_host = self.gpu.backend.to_host
            found.append({name: to_host(column) for name, column in batch.items()})
        return tables(found)


@pytest.fixture(scope="module")
def device(plain: Bench) -> Device:
    return Device(plain)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


def check(device: Device, inputs: Any, folder: Path, **options: Any) -> DeviceRowStream:
    """Compare rows and counts with those of the mill."""
    looks = ("batch_bytes", "batch_size", "threads")
    ours = {key: value for key, value in options.items() if key not in looks}
    manifest = pack(
        inputs,
        output=folder,
        tokenizer=device.tokenizer,
        context_length=32,
        **{"tail": "pad", **COMMON, **ours},
    )
    stored = PackedDataset(folder, columns=COLUMNS, torch=False)
    rows = device.rows(inputs, **options)
    for _ in range(2):  # lanes are used again
        assert_equal(device.tables(rows), stored.batch(np.arange(len(stored))))
        assert rows.documents == manifest.documents["out"]
        assert dict(rows.skipped) == manifest.documents["skipped"]
        assert rows.tokens == manifest.tokens["in"]
    return rows


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bos": BOS, "overlap": 5},
        {"batch_bytes": 3000, "batch_size": 3, "threads": 1},
        {"batch_bytes": 40},
        {"on_bad": {"lone_surrogate": "replace"}},
        {"on_bad": {"bad_utf8": "replace"}},
    ],
    ids=str,
)
def test_rows_are_those_that_the_mill_writes(
    options: dict[str, Any], device: Device, dirty: Corpus, tmp_path: Path
) -> None:
    check(device, dirty.paths, tmp_path, **options)


def lines_of(texts: list[str], **fields: Any) -> bytes:
    return b"".join(json.dumps({**fields, "text": t}).encode() + b"\n" for t in texts)


def test_the_host_sends_raw_lines_and_parses_none(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"document {i} \u00e9 \n {'word ' * (i % 40)}" for i in range(600)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(texts, id=7))
    check(device, [path], tmp_path / "out")
    monkeypatch.setattr("tokenmill._core.read_jsonl", None)
    before = device.gpu.backend.uploaded  # type: ignore[attr-defined]
    rows = device.rows([path])
    assert sum(1 for _ in rows) > 1
    assert rows.documents == len(texts)
    sent = device.gpu.backend.uploaded - before  # type: ignore[attr-defined]
    assert sent > path.stat().st_size


def test_files_of_all_kinds_together(device: Device, tmp_path: Path) -> None:
    files = {
        "a.jsonl": lines_of(["one", "two \ud83d\ude00"]),
        "b.jsonl": b"\xef\xbb\xbf" + lines_of(["with a mark"])[:-1],  # no newline at the end
        "c.jsonl": b"",
        "d.jsonl.gz": gzip.compress(lines_of([f"packed {i}" for i in range(3000)])),
        "e.txt": b"plain text",
        "f.jsonl": b"\n\n \r\n" + lines_of(["after blanks"]),
        "g.jsonl": lines_of(["long " * 30000, "short"]),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    paths = [tmp_path / name for name in files]
    for batch_bytes in (1000, 1 << 16, 1 << 20):
        check(device, paths, tmp_path / str(batch_bytes), batch_bytes=batch_bytes)


def test_a_chunk_that_the_device_cannot_decide_is_read_by_the_cpu(
    device: Device, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    many = json.dumps({"n": list(range(70000)), "text": "many members"}).encode()
    path.write_bytes(lines_of(["before"]) + many + b"\n" + lines_of(["after"]) + b"\n" * 40000)
    check(device, [path], tmp_path / "out", batch_bytes=1 << 20)


def test_errors_name_the_place(device: Device, tmp_path: Path) -> None:
    special = device.tokenizer.special_tokens
    token = next(iter(special))
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(["fine"] * 5) + b"\n{bad\n" + lines_of([f"a {token} b", "fine"]))
    with pytest.raises(BadRecordFound, match=r"a\.jsonl:7") as found:
        list(device.rows([path], on_bad={"bad_json": "fail"}))
    assert found.value.line == 7
    with pytest.raises(SpecialTokenInText, match=r"a\.jsonl:8"):
        list(device.rows([path], special_in_text="raise"))


def test_a_missing_file_is_reported(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(["x"] * 50))
    rows = device.rows([path])
    path.unlink()
    with pytest.raises(OSError, match=r"a\.jsonl"):
        list(rows)


def test_an_iteration_that_is_left_early_can_start_again(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of([f"document {i} {'word ' * (i % 40)}" for i in range(900)]))
    rows = device.rows([path], batch_bytes=3000)
    wanted = device.tables(rows)
    for count in (1, 5):
        batches = iter(rows)
        for _ in range(count):
            next(batches)
        batches.close()  # type: ignore[attr-defined]
        assert 0 < rows.documents < 900
    assert_equal(device.tables(rows), wanted)
    assert rows.documents == 900


def test_an_error_while_reading_comes_after_the_rows_before_it(
    device: Device, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(["fine " * 50] * 400) + b"{bad\n" + lines_of(["fine"] * 50))
    rows = device.rows([path], batch_bytes=3000, on_bad={"bad_json": "fail"})
    made: list[Any] = []
    with pytest.raises(BadRecordFound, match=r"a\.jsonl:401"):
        made.extend(rows)
    assert made

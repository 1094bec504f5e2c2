"""`pack` with a device that reads JSONL: the bytes that the CPU writes, for files of every kind."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.cuda.test_json_rows import lines_of
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import BOS, digests
from tests.mill.tuned import shrink

from tokenmill import BadRecordFound, SpecialTokenInText, pack
from tokenmill._cuda.encoder import GpuEncoder
from tokenmill._mill.device import choose as device_module
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cuda.conftest import Bench

    from tokenmill import Tokenizer

COMMON: dict[str, Any] = {"shard_tokens": 4000, "max_document_bytes": LONGEST}
OPTIONS: list[dict[str, Any]] = [
    {"context_length": 128, "overlap": 17},
    {"context_length": 128, "on_bad": {"lone_surrogate": "replace"}, "bos": BOS},
    {"context_length": 64, "on_bad": {"bad_utf8": "replace", "bad_json": "skip"}},
    {"context_length": 64, "pack": "bestfit", "validation": "20%", "shuffle": "docs"},
    {"pack": "none", "format": "datatrove,megatron"},
]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch.setattr)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return dirty_corpus(tmp_path_factory.mktemp("dirty"))


@pytest.fixture
def tokenizer(plain: Bench, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    """Return a tokenizer whose device is the shim."""
    encoder = GpuEncoder(plain.gpu())
    monkeypatch.setattr(device_module, "_open_device", lambda *_: encoder)
    return plain.tokenizer


def packed(
    tokenizer: Tokenizer, inputs: Any, output: Path, device: str, **options: Any
) -> dict[str, str]:
    given = {"context_length": 64, **COMMON, **options}
    pack(inputs, output=output, tokenizer=tokenizer, device=device, workers=3, **given)
    return digests(output)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_device_writes_the_bytes_of_the_cpu(
    options: dict[str, Any], tokenizer: Tokenizer, dirty: Corpus, tmp_path: Path
) -> None:
    there = packed(tokenizer, dirty.paths, tmp_path / "cuda", "cuda", **options)
    assert there == packed(tokenizer, dirty.paths, tmp_path / "cpu", "cpu", **options)


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
def test_a_device_that_is_opened_behind_the_cpu_changes_no_byte(
    options: dict[str, Any],
    tokenizer: Tokenizer,
    dirty: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lanes are made while those before them are used."""
    expected = packed(tokenizer, dirty.paths, tmp_path / "cpu", "cpu", **options)
    monkeypatch.setattr(device_module, "OPENED_BEHIND", 1)
    monkeypatch.setattr(device_module, "_find_device", lambda _: None)
    assert packed(tokenizer, dirty.paths, tmp_path / "cuda", "cuda", **options) == expected


def test_files_of_all_kinds_together(tokenizer: Tokenizer, tmp_path: Path) -> None:
    files = {
        "a.jsonl": lines_of(["one", "two \ud83d\ude00"]) + b"{bad\n",
        "b.jsonl": b"\xef\xbb\xbf" + lines_of(["with a mark"])[:-1],  # no newline at the end
        "c.jsonl": b"",
        "d.jsonl.gz": gzip.compress(lines_of([f"packed {i}" for i in range(3000)])),
        "e.txt": b"plain text",
        "f.jsonl": b"\n\n \r\n" + lines_of(["after blanks", "", "x"]) + b'{"text":"\xff"}',
        "g.jsonl": lines_of(["long " * 30000, "short"]),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    paths = [tmp_path / name for name in files]
    made = [
        packed(tokenizer, paths, tmp_path / device, device, max_document_bytes=1 << 20)
        for device in ("cpu", "cuda")
    ]
    assert made[0] == made[1]


def test_the_host_parses_no_line(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of([f"document {i} " + "word " * (i % 9) for i in range(900)]) + b"x\n")
    expected = packed(tokenizer, [path], tmp_path / "cpu", "cpu")
    monkeypatch.setattr("tokenmill._core.read_jsonl", None)
    assert packed(tokenizer, [path], tmp_path / "cuda", "cuda") == expected


def test_errors_name_the_place(tokenizer: Tokenizer, tmp_path: Path) -> None:
    token = next(iter(tokenizer.special_tokens))
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(["fine"] * 5) + b"\n{bad\n" + lines_of([f"a {token} b", "fine"]))
    with pytest.raises(BadRecordFound, match=r"a\.jsonl:7"):
        packed(tokenizer, [path], tmp_path / "1", "cuda", on_bad={"bad_json": "fail"})
    with pytest.raises(SpecialTokenInText, match=r"a\.jsonl:8"):
        packed(tokenizer, [path], tmp_path / "2", "cuda", special_in_text="raise")


def test_blocks_are_read_where_the_device_takes_them(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs use the same lanes, and both have the bytes of the CPU; blocks of nothing too."""
    encoder = device_module._open_device(tokenizer, 0)
    asked: list[int] = []
    encode = GpuEncoder.encode

    def noted(self: GpuEncoder, text: Any, offsets: Any, options: Any) -> Any:
        asked.append(len(offsets) - 1)
        return encode(self, text, offsets, options)

    monkeypatch.setattr(GpuEncoder, "encode", noted)
    path = tmp_path / "a.jsonl"
    lines = [f"document {i} \u00e9 " + "word " * (i % 9) for i in range(3000)]
    path.write_bytes(lines_of(lines) + b"{bad\n" + lines_of(["last"]))
    expected = packed(tokenizer, [path], tmp_path / "cpu", "cpu")
    kept, counts = [], []
    for number in range(2):
        task = prepare_task([path], tokenizer=tokenizer, context_length=64, **COMMON)
        output = tmp_path / f"cuda{number}"
        done = pack_task(task, output=output, device="cuda", workers=3)
        assert digests(output) == expected
        assert done.device.encoder is not None
        spent = done.device.encoder.spent
        assert spent["blocks"] >= spent["in_place"] > 0
        counts.append(spent["blocks"])  # of this run alone
        kept.append(list(encoder.kept_lines.values()))
    assert counts[0] == counts[1]
    assert len(kept[0]) == 1
    assert kept[0][0] is kept[1][0]
    assert len(kept[0][0].readers) == len(kept[0][0]._lines._readings) == 1
    assert 0 not in asked


def test_another_kind_of_run_has_other_lanes(tokenizer: Tokenizer, tmp_path: Path) -> None:
    encoder = device_module._open_device(tokenizer, 0)
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of([f"document {i}" for i in range(50)]))
    for number, options in enumerate(({}, {"bos": BOS}, {})):
        there = packed(tokenizer, [path], tmp_path / f"cuda{number}", "cuda", **options)
        assert there == packed(tokenizer, [path], tmp_path / f"cpu{number}", "cpu", **options)
        assert len(encoder.kept_lines) == 1

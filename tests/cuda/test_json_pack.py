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

"""The `.mill` file: what was written is what is read, and anything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tokenmill import CorruptModel, LoadError, SourceNotFound, Tokenizer
from tokenmill._load.source import load_source
from tokenmill._model.file import (
    MAGIC,
    PAGE,
    is_model_file,
    open_model,
    write_compressed,
    write_model,
)
from tokenmill._model.resolve import compile_file

if TYPE_CHECKING:
    from pathlib import Path

HEADER = 64
PAYLOAD = bytes(range(256)) * 40


@pytest.fixture
def mill(tmp_path: Path) -> Path:
    path = tmp_path / "a.mill"
    write_model(PAYLOAD, path)
    return path


def test_a_payload_comes_back_on_a_page_boundary(mill: Path) -> None:
    model = open_model(mill)
    assert bytes(model.payload) == PAYLOAD
    assert not model.is_compressed
    assert mill.stat().st_size == PAGE + len(PAYLOAD)
    assert np.frombuffer(model.payload, dtype=np.uint8).ctypes.data % PAGE == 0


def test_every_flipped_byte_of_the_header_is_refused(mill: Path) -> None:
    good = mill.read_bytes()
    for position in range(HEADER):
        for bit in range(8):
            bad = bytearray(good)
            bad[position] ^= 1 << bit
            mill.write_bytes(bad)
            with pytest.raises(CorruptModel, match="hint:"):
                open_model(mill)


def test_every_flipped_byte_behind_the_header_is_refused(mill: Path) -> None:
    good = mill.read_bytes()
    for position in range(HEADER, len(good), 37):
        bad = bytearray(good)
        bad[position] ^= 0x10
        mill.write_bytes(bad)
        with pytest.raises(CorruptModel, match="damaged"):
            open_model(mill)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, 9000, 14335])
def test_every_truncation_is_refused(mill: Path, size: int) -> None:
    mill.write_bytes(mill.read_bytes()[:size])
    with pytest.raises(CorruptModel):
        open_model(mill)


def test_added_bytes_are_refused(mill: Path) -> None:
    mill.write_bytes(mill.read_bytes() + b"\0")
    with pytest.raises(CorruptModel, match="added to"):
        open_model(mill)


@pytest.mark.parametrize("foreign", [b"{}", b"\x89PNG\r\n\x1a\n" + bytes(9000), b"PK\x03\x04" * 99])
def test_a_foreign_file_is_refused(tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "foreign.mill"
    path.write_bytes(foreign)
    assert not is_model_file(path)
    with pytest.raises(CorruptModel, match="not a compiled model"):
        open_model(path)


def test_a_newer_version_names_the_way_out(mill: Path) -> None:
    data = bytearray(mill.read_bytes())
    data[8] = 9
    mill.write_bytes(data)
    with pytest.raises(CorruptModel, match=r"format version 9.*upgrade tokenmill"):
        open_model(mill)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        open_model(tmp_path / "none.mill")


def test_a_failed_write_leaves_the_old_file(mill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_handle: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        write_model(b"new", mill)
    assert bytes(open_model(mill).payload) == PAYLOAD
    assert [path.name for path in mill.parent.iterdir()] == ["a.mill"]


def test_the_compressed_form_gives_the_same_spec(small_json: Path, tmp_path: Path) -> None:
    spec = load_source(small_json)
    path = tmp_path / "small.mill"
    write_compressed(spec, path)
    model = open_model(path)
    assert model.is_compressed
    assert model.spec().content_hash == spec.content_hash
    assert path.stat().st_size < small_json.stat().st_size


@pytest.mark.parametrize("compressed", [False, True])
def test_a_compiled_tokenizer_gives_the_same_ids(
    small_json: Path, small: Tokenizer, tmp_path: Path, compressed: bool
) -> None:
    path = tmp_path / "small.mill"
    compile_file(small_json, path, compressed=compressed)
    loaded = Tokenizer.load(path)
    text = "hello world, h\u00e9llo <s> \U0001f600"
    assert loaded.encode(text).tolist() == small.encode(text).tolist()
    assert loaded.special_tokens == small.special_tokens
    assert loaded.name == small.name


def test_a_compressed_file_whose_content_lies_is_refused(small_json: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.mill"
    spec = load_source(small_json)
    write_compressed(spec, path)
    payload = bytes(open_model(path).payload)
    for size in range(0, len(payload), max(1, len(payload) // 50)):
        with pytest.raises(CorruptModel):
            _unpack(payload[:size])


def _unpack(payload: bytes) -> None:
    from tokenmill._model.compressed import unpack_spec

    unpack_spec(payload, "test")


def test_tables_that_contradict_themselves_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "zeros.mill"
    write_model(bytes(8192), path)
    with pytest.raises(CorruptModel):
        Tokenizer.load(path)


def test_a_compiled_model_takes_no_pattern(small_json: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.mill"
    compile_file(small_json, path)
    with pytest.raises(LoadError, match="expected no pattern"):
        Tokenizer.load(path, pattern="gpt2")


def test_the_magic_is_not_text() -> None:
    assert not MAGIC.isascii()
    assert b"\r\n" in MAGIC


def test_added_tokens_are_read_when_asked_for(small_json: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.mill"
    compile_file(small_json, path)
    meta = Tokenizer.load(path).ready.meta
    assert "added_tokens" not in meta
    assert meta["added_tokens"] == {
        token.content: token.id for token in load_source(small_json).added_tokens
    }
    assert "added_tokens" in meta
    with pytest.raises(KeyError, match="another"):
        meta["another"]

"""The cache of compiled models: found without parsing, never trusted, never in the way."""

from __future__ import annotations

import logging
import multiprocessing
import os
from typing import TYPE_CHECKING

import pytest

from tokenmill import Tokenizer
from tokenmill._cache_folder import cache_folder
from tokenmill._load import source
from tokenmill._model import cache as model_cache
from tokenmill._model import resolve, seen

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TOKENMILL_CACHE", str(folder))
    return folder


def test_the_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKENMILL_CACHE", "off")
    assert cache_folder() is None
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path))
    assert cache_folder() == str(tmp_path)
    monkeypatch.delenv("TOKENMILL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == str(tmp_path / "tokenmill")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == str(tmp_path / ".cache" / "tokenmill")


def test_the_second_load_parses_nothing(
    cache: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Tokenizer.load(small_json)
    monkeypatch.setattr(source, "load_source", None)
    second = Tokenizer.load(small_json)
    assert second.encode("hello").tolist() == first.encode("hello").tolist()
    assert len(list(cache.glob("*.mill"))) == 1


def test_a_changed_source_is_another_model(cache: Path, small_json: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes(small_json.read_bytes())
    Tokenizer.load(copy)
    copy.write_text(copy.read_text().replace('"</s>"', '"<e>"'))
    assert "<e>" in Tokenizer.load(copy).special_tokens
    assert len(list(cache.glob("*.mill"))) == 2


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_broken_file_is_built_again_and_said(
    cache: Path, small_json: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    Tokenizer.load(small_json)
    (file,) = cache.glob("*.mill")
    good = file.read_bytes()
    bad = {"flip": good[:-1] + bytes([good[-1] ^ 1]), "cut": good[:5000], "empty": b""}[damage]
    file.write_bytes(bad)
    with caplog.at_level(logging.WARNING, logger="tokenmill"):
        assert Tokenizer.load(small_json).encode("hello").tolist() == [259]
    assert "built again" in caplog.text
    assert file.read_bytes() == good


def test_off_keeps_nothing(
    small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_CACHE", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Tokenizer.load(small_json).encode("hello").tolist() == [259]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(
    small_json: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TOKENMILL_CACHE", str(tmp_path / "file" / "cache"))
    assert Tokenizer.load(small_json).encode("hello").tolist() == [259]


def test_the_files_used_longest_ago_go_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_cache, "_MAX_BYTES", 3 * 5000)
    for number in range(3):
        model_cache.store(f"k{number}", bytes(900))
        os.utime(cache / f"k{number}.mill", (number, number))
    assert model_cache.fetch("k0") is not None  # used again, so no longer the oldest
    model_cache.store("k3", bytes(900))
    assert sorted(path.stem for path in cache.iterdir()) == ["k0", "k2", "k3"]


def _load(path: str, folder: str) -> list[int]:
    os.environ["TOKENMILL_CACHE"] = folder
    return [int(i) for i in Tokenizer.load(path).encode("hello world")]


def test_processes_may_race(cache: Path, small_json: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        results = pool.starmap(_load, [(str(small_json), str(cache))] * 8)
    assert results == [[259, 264]] * 8
    assert {path.suffix for path in cache.iterdir()} <= {".mill", ".seen"}
    assert len(list(cache.glob("*.mill"))) == 1


@pytest.fixture
def folder(tmp_path: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tokenizer.json, as if it were old."""
    monkeypatch.setattr(seen, "_SETTLED_NS", -1)
    made = tmp_path / "tokenizer"
    made.mkdir()
    (made / "tokenizer.json").write_bytes(small_json.read_bytes())
    return made


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["", "tokenizer.json"])
def test_files_that_did_not_change_are_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    first = Tokenizer.load(folder / name)
    monkeypatch.setattr(resolve, "_bytes_of", None)
    second = Tokenizer.load(folder / name)
    assert second.encode("hello").tolist() == first.encode("hello").tolist()
    assert second.name == first.name


@pytest.mark.usefixtures("cache")
def test_a_change_that_keeps_size_and_time_is_noticed(folder: Path) -> None:
    file = folder / "tokenizer.json"
    stat = file.stat()
    Tokenizer.load(folder)
    file.write_text(file.read_text().replace('"</s>"', '"<es>"'))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    assert "<es>" in Tokenizer.load(folder).special_tokens


@pytest.mark.usefixtures("cache")
def test_a_new_file_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Tokenizer.load(folder)
    (folder / "tokenizer_config.json").write_text("{}")
    monkeypatch.setattr(resolve, "_bytes_of", None)
    with pytest.raises(TypeError):  # it is read again
        Tokenizer.load(folder)


def test_a_file_that_just_changed_is_not_remembered(
    cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may change again within the same tick of the clock."""
    monkeypatch.setattr(seen, "_SETTLED_NS", 10**18)
    Tokenizer.load(folder)
    assert list(cache.glob("*.seen")) == []
    monkeypatch.setattr(seen, "_SETTLED_NS", -1)
    Tokenizer.load(folder)
    assert len(list(cache.glob("*.seen"))) == 1


@pytest.mark.parametrize("text", ["", "../../etc/passwd", "\u00e9" * 32, "0" * 32])
def test_a_note_that_is_broken_or_names_no_model_is_no_error(
    cache: Path, folder: Path, text: str
) -> None:
    expected = Tokenizer.load(folder).encode("hello").tolist()
    (note,) = cache.glob("*.seen")
    note.write_text(text)
    assert Tokenizer.load(folder).encode("hello").tolist() == expected


def test_old_notes_are_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_cache, "_MAX_NOTES", 2)
    for number in range(4):
        model_cache.note(f"n{number}", "k")
        os.utime(cache / f"n{number}.seen", (number, number))
    model_cache.store("k", bytes(900))
    assert sorted(path.name for path in cache.iterdir()) == ["k.mill", "n2.seen", "n3.seen"]

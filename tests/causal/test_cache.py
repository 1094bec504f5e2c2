"""Where results are kept: in memory, in a temporary file, in a cache that is found again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from datasets import Features
from tests.causal.corpus import columns_of, dataset, features, made, paragraphs, rows

from tokenmill import CausalLMTokenizer, OptionError, OutputError, SpecialTokenInText, Tokenizer
from tokenmill._causal import split_run, store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("limit", [0, 30_000, 10**9])
@pytest.mark.parametrize("tail", ["pad", "carry", "drop"])
def test_many_rows_go_to_a_file_and_are_the_same(
    limit: int,
    tail: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = rows(dataset(paragraphs()), tail=tail)
    monkeypatch.setattr(store, "memory_rows_bytes", lambda: limit)
    monkeypatch.setattr(split_run, "writer_rows", lambda *_: 20)
    result = made().tokenize(dataset(paragraphs()), tail=tail)
    assert columns_of(result) == expected
    assert bool(result.cache_files) == (limit < 10**9)
    assert result.features == Features(features(-1 if tail == "carry" else 32))


def test_an_output_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        made().tokenize(dataset(["a"]), cache_dir=tmp_path / "file")


def test_a_disk_that_fails_is_reported_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store._Unfinished, "_write", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        made().tokenize(dataset(paragraphs()), cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_has_left_is_swept_away(tmp_path: Path) -> None:
    texts = dataset(["a"])
    made().tokenize(texts, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    old, new = (tmp_path / f"{path.name}.{pid}.tokenmill-part" for pid in (1, 2))
    for left in (old, new):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    made().tokenize(texts, cache_dir=tmp_path, force=True)
    assert sorted(tmp_path.iterdir()) == sorted([path, new])  # the new one may be at work


def test_a_cache_is_found_again_and_force_makes_it_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = dataset(paragraphs())
    first = made().tokenize(texts, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    os.utime(path, (1, 1))  # a file that is written again gets another time
    again = made().tokenize(dataset(paragraphs()), cache_dir=tmp_path)
    assert columns_of(again) == columns_of(first)
    assert f"found in the cache: {path}" in caplog.messages
    assert path.stat().st_mtime == 1
    forced = made().tokenize(texts, cache_dir=tmp_path, force=True)
    assert columns_of(forced) == columns_of(first)
    assert path.stat().st_mtime > 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_changes_rows_changes_the_place_in_the_cache(tmp_path: Path, small: Tokenizer) -> None:
    texts = dataset(paragraphs())
    calls: list[tuple[CausalLMTokenizer, Any, dict[str, Any]]] = [
        (made(), texts, {}),
        (made(), texts.select(range(20)), {}),
        (made(33), texts, {}),
        (made(overlap=1), texts, {}),
        (made(tokenizer=small), texts, {}),
        (made(), texts, {"pack": False}),
        (made(), texts, {"tail": "drop"}),
        (made(), texts, {"eos": False}),
        (made(), texts, {"bos": 1}),
        (made(), texts, {"pad": 0}),
        (made(overlap=1), texts, {"mask_overlap": True}),
        (made(), texts, {"ignore_index": -1}),
        (made(), texts, {"special_in_text": "encode"}),
        (made(), texts, {"max_rows": 3}),
    ]
    for number, (one, given, options) in enumerate(calls, start=1):
        one.tokenize(given, cache_dir=tmp_path, **options)
        assert len(list(tmp_path.iterdir())) == number, options
    # What does not: how the work is done.
    made(batch_size=3, verbose_level="ERROR").tokenize(texts, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(calls)


def test_a_failed_run_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    texts = dataset(["fine", "not <|endoftext|> fine"])
    with pytest.raises(SpecialTokenInText, match=r"document 1, byte 4: .*endoftext") as caught:
        made().tokenize(texts, cache_dir=tmp_path, special_in_text="raise")
    assert (caught.value.document, caught.value.token) == (1, "<|endoftext|>")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_of_the_cache_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = rows(dataset(paragraphs()), cache_dir=tmp_path)
    (path,) = tmp_path.glob("*.arrow")
    path.write_bytes(b"damaged" * 10)
    assert rows(dataset(paragraphs()), cache_dir=tmp_path) == expected
    assert "made again" in caplog.text


@pytest.mark.parametrize("wrong", [{"cache_dir": 3}, {"cache_dir": ""}, {"force": "yes"}])
def test_a_wrong_place_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(OptionError, match=f"^{name}: expected"):
        made().tokenize(dataset(["text"]), **wrong)

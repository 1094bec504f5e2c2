"""Warming: the most frequent segments are there before anybody asks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.cache.kinds import NAMES, tokenizer_named

from tokenmill import BadRecordFound, Tokenizer
from tokenmill._cache import SegmentCache, supported
from tokenmill._cache.warm_file import read_warm_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SYSTEM = "You are a helpful assistant, and these are your tools. " * 60
OTHERS = [f"text number {number} that nobody sends again " * 60 for number in range(20)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def test_the_most_frequent_segments_come_first_and_stop_at_the_budget(
    tokenizer: Tokenizer,
) -> None:
    cache = SegmentCache(20_000, cut_bytes=0, verify=0, adaptive=False)
    report = cache.warm(tokenizer, [*OTHERS, SYSTEM, SYSTEM]).wait(20)
    assert report.ended == "the budget is full"
    assert report.segments == 21
    assert 1 <= report.stored < 21
    before = cache.stats()["memory"]["hits"]
    assert (cache.encode(tokenizer, SYSTEM) == tokenizer.encode(SYSTEM)).all()
    assert cache.stats()["memory"]["hits"] == before + 1


def test_all_of_it_if_it_fits(tokenizer: Tokenizer) -> None:
    cache = SegmentCache(verify=0, adaptive=False)
    report = cache.warm(tokenizer, iter([SYSTEM, *OTHERS]), background=False).wait()
    assert (report.ended, report.texts, report.stored) == ("done", 21, 21)
    for text in OTHERS:
        cache.encode(tokenizer, text)
    assert cache.stats()["memory"]["hits"] == len(OTHERS)


def test_texts_that_cannot_be_encoded_are_counted(tokenizer: Tokenizer) -> None:
    cache = SegmentCache()
    report = cache.warm(tokenizer, [SYSTEM, 17], background=False).wait()  # type: ignore[list-item]
    assert (report.stored, report.skipped) == (1, 1)


def test_it_can_be_stopped(tokenizer: Tokenizer) -> None:
    cache = SegmentCache()
    asked = threading.Event()

    def endless() -> Iterator[str]:
        yield SYSTEM
        asked.wait(20)
        while True:
            yield SYSTEM

    warming = cache.warm(tokenizer, endless())
    warming.stop()
    asked.set()
    assert warming.wait(20).ended == "stopped"


def test_an_error_of_the_texts_is_raised_by_wait(tokenizer: Tokenizer, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": 1}\n')
    with pytest.raises(BadRecordFound, match=r"texts\.jsonl:1"):
        SegmentCache().warm(tokenizer, read_warm_file(file)).wait(20)


def test_a_tokenizer_without_segments_says_why() -> None:
    name = next(name for name in NAMES if not supported(tokenizer_named(name)))
    report = SegmentCache().warm(tokenizer_named(name), [SYSTEM]).wait(20)
    assert "library" in report.ended
    assert report.stored == 0


def test_files_of_both_kinds_are_read(tmp_path: Path) -> None:
    lines = tmp_path / "texts.txt"
    lines.write_text("one\n\ntwo words\n", "utf-8")
    assert list(read_warm_file(lines)) == ["one", "two words"]
    records = tmp_path / "texts.jsonl"
    records.write_text('"one"\n{"prompt": "two\\nlines"}\n{"text": "\\u00e9"}\n', "utf-8")
    assert list(read_warm_file(records)) == ["one", "two\nlines", "\u00e9"]
    records.write_text("no json\n")
    with pytest.raises(BadRecordFound, match="not JSON"):
        list(read_warm_file(records))

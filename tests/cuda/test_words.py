"""From words to ids: the kernels on the host return the engine's ids, whatever the tables hold."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.cuda.word_models import (
    check,
    device_tables,
    merged_by_length,
    model,
    texts_of,
    unsplit,
)
from tests.cuda.words import Setting, WordKernels, mark, whole

from tokenmill._cuda.layout import BatchCounter, BatchOption
from tokenmill._cuda.steps import WordCapacity

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["gpt2", "llama3", "o200k"])
def test_words_of_texts_have_the_engines_ids_cold_and_warm(name: str, folder: Path) -> None:
    texts, marks = texts_of(name, 1)
    kernels = WordKernels(folder, device_tables(model(name)), Setting())
    cold = kernels.run(marks)
    assert cold.counters[BatchCounter.MISS_COUNT] > 0, "nothing was missing"
    assert cold.counters[BatchCounter.LEARNT_COUNT] > 0, "nothing was learnt"
    check(cold, model(name), texts, (name, "cold"))
    for time in range(2):
        warm = kernels.run(marks)
        assert warm.counters[BatchCounter.MISS_COUNT] < cold.counters[BatchCounter.MISS_COUNT] / 4
        check(warm, model(name), texts, (name, "warm", time))


def test_ids_of_two_bytes_are_the_same(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 2)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting())
    check(kernels.run(marks, bits=16), model("gpt2"), texts, "16 bits")


@pytest.mark.parametrize(
    "words",
    [WordCapacity(64, 64, 256), WordCapacity(1 << 10, 16, 64), WordCapacity(1 << 18, 2, 4)],
    ids=["tiny", "few long words", "hardly any long word"],
)
def test_tables_that_are_too_small_change_nothing(words: WordCapacity, folder: Path) -> None:
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(words=words))
    for seed in (3, 4, 3):
        texts, marks = texts_of("gpt2", seed)
        check(kernels.run(marks), model("gpt2"), texts, (words, seed))
    filled = np.count_nonzero(kernels.table("words").reshape(-1, 8)[:, 3])
    assert filled <= words.entries // 2
    assert np.count_nonzero(kernels.table("long_slots").reshape(-1, 4)[:, 0]) <= max(
        words.long_slots // 2, 1
    )


def test_a_full_table_is_not_counted_up_for_ever(folder: Path) -> None:
    setting = Setting(words=WordCapacity(64, 64, 256), seeded=False)
    kernels = WordKernels(folder, device_tables(model("gpt2")), setting)
    _, marks = texts_of("gpt2", 5)
    counts = []
    for _ in range(4):
        kernels.run(marks)
        counts.append(kernels.learnt)
    assert counts[1] == counts[3]


def test_without_seeds_and_without_learning_all_words_are_merged(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 6)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(seeded=False))
    for options in (0, BatchOption.KEEP_REPEATS):
        result = kernels.run(marks, options)
        assert result.counters[BatchCounter.MISS_COUNT] == len(marks.starts)
        check(result, model("gpt2"), texts, options)
    assert merged_by_length(result).sum() == len(marks.starts), "repeats were left out"
    assert kernels.learnt == [0, 0, 0, 0]


def test_repeats_that_are_kept_and_learnt_change_nothing(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 7)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(seeded=False))
    for _ in range(2):
        check(
            kernels.run(marks, BatchOption.KEEP_REPEATS | BatchOption.LEARN),
            model("gpt2"),
            texts,
            "repeats",
        )


def test_repeats_are_merged_once(folder: Path) -> None:
    texts = [b"unbelievably odd "] * 50
    marks = mark([[[b"unbelievably"], [b" odd"], [b" "]] for _ in texts])
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(seeded=False))
    result = kernels.run(marks)
    assert result.counters[BatchCounter.MISS_COUNT] == 150
    assert merged_by_length(result).tolist() == [3, 0, 0, 0, 0, 0]
    check(result, model("gpt2"), texts, "repeats")


def test_small_tiles_and_blocks_in_any_order_change_nothing(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 8)
    for shuffle in range(3):
        setting = Setting(tile=64, shuffle=shuffle)
        kernels = WordKernels(folder, device_tables(model("gpt2")), setting)
        for time in range(2):
            check(kernels.run(marks), model("gpt2"), texts, (shuffle, time))


@pytest.mark.parametrize("texts", [[b""], [], [b"", b"", b"a", b"", b""], [b"a"] * 100])
def test_documents_of_no_or_one_byte(texts: list[bytes], folder: Path) -> None:
    kernels = WordKernels(folder, device_tables(unsplit("gpt2")), Setting(seeded=False))
    check(kernels.run(whole(texts)), unsplit("gpt2"), texts, "few bytes")


def test_tiles_with_more_words_than_a_round(folder: Path) -> None:
    """A round has 2048 words, a tile up to 8192: short ones, some of which have many ids."""
    choose = random.Random(15)  # noqa: S311
    parts = [b"a", b"b", b" c", b"", b"zq", b"xyzzyq", b"ab" * 40]
    texts = choose.choices(parts, weights=[9, 9, 5, 1, 3, 1, 0.02], k=30000)
    for tile, seeded in ((8192, True), (8192, False), (1024, False)):
        setting = Setting(tile=tile, shuffle=2, seeded=seeded)
        kernels = WordKernels(folder, device_tables(unsplit("gpt2")), setting)
        for bits in (32, 16):
            result = kernels.run(whole(texts), bits=bits, misses=len(texts))
            check(result, unsplit("gpt2"), texts, (tile, seeded, bits))


def test_ids_that_begin_anywhere_in_memory(folder: Path) -> None:
    """Ids are written in fours, whose place depends on where the ids before have ended."""
    kernels = WordKernels(folder, device_tables(unsplit("gpt2")), Setting(tile=64))
    for count in range(1, 12):
        texts = [b"a"] * count + [b"zqzqzq" * 20, b"", b"b"]
        for bits in (32, 16):
            check(kernels.run(whole(texts), bits=bits), unsplit("gpt2"), texts, (count, bits))

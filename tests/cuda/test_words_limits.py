"""From words to ids: lists that are too short, pieces of words, unusual vocabularies."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from tests.cuda.sanitized import run_sanitized
from tests.cuda.word_models import (
    check,
    device_tables,
    expected,
    model,
    texts_of,
)
from tests.cuda.words import Setting, WordKernels, mark, whole
from tests.models import (
    Way,
    compile_payload,
    make_model,
    pair_model,
    ranked_model,
    spec_of,
)

from tokenmill import _core
from tokenmill._cuda.layout import BatchCounter, DocumentFlag
from tokenmill._cuda.tables import exact_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_documents_whose_misses_find_no_room_are_flagged(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 11)
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting(tile=64, shuffle=1))
    result = kernels.run(marks, misses=40)
    flagged = result.flags[: len(texts)] == DocumentFlag.OVERFLOW
    assert result.counters[BatchCounter.MISS_COUNT] > 40
    assert 0 < flagged.sum() == result.counters[BatchCounter.FLAGGED] < len(texts)
    ids, offsets = expected(model("gpt2"), texts)
    for i in np.flatnonzero(~flagged):
        got = result.ids[result.offsets[i] : result.offsets[i + 1]]
        assert np.array_equal(got, ids[offsets[i] : offsets[i + 1]]), texts[i]


def test_documents_whose_ids_find_no_room_are_flagged(folder: Path) -> None:
    texts, marks = texts_of("gpt2", 12)
    ids, offsets = expected(model("gpt2"), texts)
    room = int(offsets[len(texts) // 2]) + 1
    kernels = WordKernels(folder, device_tables(model("gpt2")), Setting())
    result = kernels.run(marks, ids=room)
    assert result.counters[BatchCounter.ID_COUNT] == offsets[-1]
    assert np.array_equal(result.offsets, offsets)
    assert np.array_equal(result.flags[: len(texts)] == DocumentFlag.OVERFLOW, offsets[1:] > room)
    assert np.array_equal(result.ids[:room], ids[:room])


def characters(choose: random.Random, size: int) -> str:
    return "".join(chr(0x4E00 + choose.randrange(40)) for _ in range(size))


def cut(tokens: Sequence[bytes], word: bytes) -> list[bytes]:
    """Cut a word of 3-byte characters wherever no token could lie across."""
    spans = [
        (at, at + len(token))
        for token in set(tokens)
        for at in range(len(word) - len(token) + 1)
        if len(token) > 1 and word.startswith(token, at)
    ]
    places = [
        at for at in range(3, len(word), 3) if not any(begin < at < end for begin, end in spans)
    ]
    bounds = [0, *places, len(word)]
    return [word[i:j] for i, j in pairwise(bounds)]


def test_a_piece_is_merged_where_an_equal_word_is_a_token(folder: Path) -> None:
    choose = random.Random(13)  # noqa: S311
    tokens = sorted({characters(choose, choose.choice([1, 2, 3])).encode() for _ in range(60)})
    choose.shuffle(tokens)
    engine = make_model(
        compile_payload(spec_of(ranked_model(tokens, ignore_merges=True))),
        Way(_core.targets()[0]),
    )
    tables = device_tables(engine)
    assert exact_tokens(tables).size, "every token can be merged"
    texts = [characters(choose, choose.randrange(1, 30)).encode() for _ in range(2000)] + tokens
    marks = mark([[cut(tokens, text)] for text in texts])
    assert set(marks.cuts), "nothing was cut"
    for seeded in (False, True):
        kernels = WordKernels(folder, tables, Setting(seeded=seeded))
        for time in range(2):
            check(kernels.run(marks), engine, texts, (seeded, time))


def test_a_vocabulary_of_pairs_and_random_bytes(folder: Path) -> None:
    engine = make_model(compile_payload(spec_of(pair_model(0.4))), Way(_core.targets()[0]))
    choose = random.Random(14)  # noqa: S311
    texts = [choose.randbytes(choose.randrange(200)) for _ in range(300)]
    texts = [text.decode("latin-1").encode() for text in texts]
    kernels = WordKernels(folder, device_tables(engine), Setting())
    for time in range(2):
        check(kernels.run(whole(texts)), engine, texts, time)


def test_kernels_under_sanitizers(folder: Path) -> None:
    run = run_sanitized(folder)
    assert run.stdout.endswith("clean\n"), run.stdout + run.stderr

"""Batches: offsets, sizes around a block, both widths, buffers of the caller, counting."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.models import (
    ENCODE,
    Way,
    compile_payload,
    make_model,
    ranked_model,
    run_batch,
    spec_of,
)
from tests.pipeline.conftest import HAN
from tests.split.patterns import CHAINS
from tests.strategies import EXAMPLES

from tokenmill import DtypeError, InvalidUtf8, OutputTooSmall, Tokenizer, _core

if TYPE_CHECKING:
    from tests.models import Engine

SIZES = (0, 1, 2, 8, 9, 16, 17, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1024, 1025)
PATTERNS = ("a", "the quick ", " ", "\n", "7", "!", "ab'll ", "\u00e9", "\u4e2d", "\U0001f600")


def texts_of_sizes() -> list[bytes]:
    return [
        (pattern * size).encode()[:size].decode(errors="ignore").encode()
        for pattern in PATTERNS
        for size in SIZES
    ]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_offsets_mark_each_document(model: Engine, threads: int) -> None:
    texts = texts_of_sizes()
    ids, offsets = run_batch(model, texts, threads)
    assert offsets.dtype == np.int64
    assert offsets[0] == 0
    assert offsets[-1] == len(ids)
    assert len(offsets) == len(texts) + 1
    for text, (begin, end) in zip(texts, pairwise(offsets.tolist()), strict=True):
        assert model.decode(ids[begin:end]) == text
        assert model.encode(text, False, ENCODE, 0).tolist() == ids[begin:end].tolist()


def test_an_empty_batch_and_empty_documents(model: Engine) -> None:
    for threads in (1, 3):
        assert [part.tolist() for part in run_batch(model, [], threads)] == [[], [0]]
        assert [part.tolist() for part in run_batch(model, ["", b"", ""], threads)] == [[], [0] * 4]


def test_the_neighbours_of_a_document_do_not_matter(model: Engine) -> None:
    texts = [t for pair in zip(EXAMPLES, EXAMPLES[::-1], strict=True) for t in pair]
    ids, offsets = run_batch(model, texts)
    for i, text in enumerate(texts):
        alone = run_batch(model, [text])[0]
        assert alone.tolist() == ids[offsets[i] : offsets[i + 1]].tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_uint16_holds_the_same_ids(model: Engine, threads: int) -> None:
    texts = [*EXAMPLES, HAN * 40_000]
    wide, offsets = run_batch(model, texts, threads)
    narrow, same = model.encode_batch(texts, threads, 16, False, ENCODE, 0)
    assert narrow.dtype == np.uint16
    assert np.array_equal(narrow, wide)
    assert np.array_equal(offsets, same)


@pytest.mark.parametrize(("size", "fits"), [(65_536, True), (65_537, False)])
def test_uint16_is_refused_from_the_first_id_that_does_not_fit(size: int, fits: bool) -> None:
    bpe = ranked_model([], holes=size - 256)
    model = make_model(compile_payload(spec_of(bpe, CHAINS["gpt2"])), Way(_core.targets()[-1]))
    assert model.max_id == size - 1
    if fits:
        assert model.encode_batch(["ab"], 1, 16, False, ENCODE, 0)[0].tolist() == [97, 98]
        return
    with pytest.raises(DtypeError, match="65536"):
        model.encode_batch(["ab"], 1, 16, False, ENCODE, 0)
    with pytest.raises(DtypeError, match="65536"):
        model.encode_into(["ab"], np.zeros(9, np.uint16), 1, False, ENCODE, 0)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("threads", [1, 3])
def test_encode_into_needs_exactly_the_room_of_the_ids(
    model: Engine, dtype: type[np.generic], threads: int
) -> None:
    texts = [*EXAMPLES, "the quick and " * 50_000, *EXAMPLES]
    ids, offsets = run_batch(model, texts)
    out = np.full(len(ids) + 2, 7, dtype)
    got = model.encode_into(texts, out[:-2], threads, False, ENCODE, 0)
    assert np.array_equal(out[:-2], ids)
    assert np.array_equal(got, offsets)
    assert out[-2:].tolist() == [7, 7], "written past the end"
    for room in (0, 1, len(ids) - 1):
        out = np.full(len(ids) + 2, 7, dtype)
        with pytest.raises(OutputTooSmall, match=str(len(ids))):
            model.encode_into(texts, out[:room], threads, False, ENCODE, 0)
        assert (out[room:] == 7).all(), "written past the end"


def test_counts_are_the_lengths_of_encodings(model: Engine) -> None:
    texts = [*texts_of_sizes(), HAN * 100_000, *EXAMPLES]
    wanted = np.diff(run_batch(model, texts)[1])
    for threads in (1, 2, 3):
        counts = model.count_batch(texts, threads, False, ENCODE, 0, -1)
        assert counts.dtype == np.int64
        assert np.array_equal(counts, wanted)


@pytest.mark.parametrize("extra", [False, True])
def test_a_limit_is_exact_up_to_itself(model: Engine, extra: bool) -> None:
    for text in (EXAMPLES[2], "the quick <s> and</s> " * 9, HAN * 300_000, "a" * 100_000, ""):
        [count] = model.count_batch([text], 1, extra, ENCODE, 0, -1).tolist()
        for limit in (0, 1, count - 1, count, count + 1, 10**9):
            if limit >= 0:
                [got] = model.count_batch([text], 1, extra, ENCODE, 0, limit).tolist()
                assert got == count if count <= limit else got > limit


def test_limits_through_the_tokenizer_are_clipped(small: Tokenizer) -> None:
    texts = ["hello world " * n for n in range(40)]
    counts = small.count_batch(texts)
    for limit in (0, 1, 5, 50, 1000):
        assert small.count_batch(texts, limit).tolist() == np.minimum(counts, limit + 1).tolist()
        assert [small.count(text, limit) for text in texts] == [
            min(count, limit + 1) for count in counts.tolist()
        ]


@pytest.mark.parametrize("size", [10, 8192, 8193, 2_000_000])
def test_an_error_in_a_single_text_names_no_document(model: Engine, size: int) -> None:
    with pytest.raises(InvalidUtf8) as caught:
        model.encode(b"a" * size + b"\xff", False, ENCODE, 0)
    assert (caught.value.document, caught.value.offset) == (None, size)


def test_batches_of_random_sizes(model: Engine) -> None:
    choose = random.Random(8)  # noqa: S311
    source = ("the quick 'll and " + HAN).encode() * 50
    for _ in range(60):
        texts = [
            source[i : i + choose.randrange(300)].decode(errors="ignore")
            for i in (choose.randrange(len(source)) for _ in range(choose.randrange(40)))
        ]
        ids, offsets = run_batch(model, texts, choose.randrange(1, 4))
        rows = [ids[a:b] for a, b in pairwise(offsets.tolist())]
        assert [model.decode(row).decode(errors="ignore") for row in rows] == texts

"""Words that the tables of a device learn and forget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cuda.gpu_texts import flat

from tokenmill._cuda.layout import BatchCounter
from tokenmill._cuda.slot import BatchJob
from tokenmill.cuda import FlatTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tests.cuda.conftest import Bench


def merged_words(counters: NDArray[np.uint32]) -> int:
    """Return how many words were merged, of all lengths."""
    bins = BatchCounter.BIN_COUNT
    return int(counters[bins : bins + 6].sum())


def test_words_that_were_forgotten_are_learnt_again(plain: Bench) -> None:
    gpu = plain.gpu()
    engine = gpu.encoder.engine
    texts = ["zebra crossing, zebra"] * 5 + ["a zebra in the morning"]
    part = gpu.parts(FlatTexts(*flat(texts)))[0]
    slot = engine.slot(part.data.size, len(texts))

    def unknown_words(job: BatchJob) -> tuple[int, int]:
        engine.load(slot, part, 0, len(texts))
        for _ in engine.run_steps(slot, job):
            pass
        counters = gpu.backend.to_host(slot.counters)
        assert counters[BatchCounter.ID_COUNT] == len(plain.tokenizer.encode_batch(texts).ids)
        return int(counters[BatchCounter.MISS_COUNT]), merged_words(counters)

    plain_job = BatchJob(with_special=True, bits=32)
    gpu.forget_words()
    first, merged = unknown_words(plain_job)
    assert 0 < merged < first  # equal ones once
    assert unknown_words(plain_job)[0] < first
    gpu.forget_words()
    assert unknown_words(BatchJob(with_special=True, bits=32, keep_repeats=True)) == (first, first)


@pytest.mark.parametrize(("bits", "unknown"), [(12, 3), (18, 0)])
def test_a_large_table_knows_every_character(plain: Bench, bits: int, unknown: int) -> None:
    gpu = plain.gpu(table_bits=bits)
    gpu.forget_words()  # those of the test at the start
    texts = ["\u4e2d\u6587", "\uac00", "\u4e2d"]  # no token holds two of them
    slot = gpu.encoder.engine.slot(64, len(texts))
    part = gpu.parts(FlatTexts(*flat(texts)))[0]
    gpu.encoder.engine.load(slot, part, 0, len(texts))
    for _ in gpu.encoder.engine.run_steps(slot, BatchJob(with_special=True, bits=32)):
        pass
    assert merged_words(gpu.backend.to_host(slot.counters)) == unknown
    assert gpu.encode_batch(texts).to_host() == plain.tokenizer.encode_batch(texts)

"""A tokenizer on a device against the CPU engine: forms of texts, options, batches, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from tests.conftest import alphabet, small_definition
from tests.cuda.conftest import Bench
from tests.cuda.gpu_texts import FORMS, TEXTS
from tests.cuda.tokenizers_small import random_texts, write

from tokenmill import (
    TokenBatch,
    Tokenizer,
)
from tokenmill.cuda import GpuTokenBatch

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer


@pytest.mark.parametrize("output", ["device", "host"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_texts_gives_the_ids_of_the_cpu(
    bench: Bench, gpu: DeviceTokenizer, form: str, output: Any
) -> None:
    batch = gpu.encode_batch(FORMS[form](gpu), output=output)
    assert batch.ids.dtype == np.int32
    assert batch.offsets.dtype == np.int64
    assert batch.to_host() == bench.tokenizer.encode_batch(TEXTS)
    assert batch.to_host().device == batch.device == "host:0"
    assert len(batch) == len(TEXTS)


@pytest.mark.parametrize("special_in_text", ["encode", "text"])
@pytest.mark.parametrize("add_special_tokens", [False, True])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_options_do_what_they_do_on_the_cpu(
    bench: Bench, gpu: DeviceTokenizer, dtype: Any, add_special_tokens: bool, special_in_text: Any
) -> None:
    how: dict[str, Any] = {
        "dtype": dtype, "add_special_tokens": add_special_tokens, "errors": "replace",
        "special_in_text": special_in_text,
    }  # fmt: skip
    clean = ["hello world", "", "1234 hello"]
    for texts in (TEXTS, [*TEXTS, "\ud800 alone"], [b"\xff\xff", *TEXTS, b"hell\xc3"], clean):
        wanted = bench.tokenizer.encode_batch(texts, **how)
        for output in ("device", "host"):
            found = gpu.encode_batch(texts, output=output, **how)
            assert found.ids.dtype == dtype
            assert found.to_host() == wanted


def test_documents_that_the_cpu_encoded_are_counted_by_reason(
    bench: Bench, gpu: DeviceTokenizer
) -> None:
    texts = ["hello", b"\xff", "a <s> b", "y" * 9000, "\ud800", "hello world"]
    found = gpu.encode_batch(texts, errors="replace").fallbacks
    assert found == {"invalid_utf8": 1, "long_word": 1}
    assert not gpu.encode_batch(["a <s> b"], special_in_text="text").fallbacks
    accents = gpu.encode_batch(["cafe\u0301", "caf\u00e9"]).fallbacks
    normalizes = bool(bench.tokenizer.describe().normalizer)
    assert accents == ({"not_normalized": 1} if normalizes else {})


@pytest.mark.parametrize("texts", [[], [""], ["", "", ""], ["", "hello", ""], ["h"]])
def test_empty_texts(bench: Bench, gpu: DeviceTokenizer, texts: list[str]) -> None:
    for extra in (False, True):
        wanted = bench.tokenizer.encode_batch(texts, add_special_tokens=extra)
        for output in ("device", "host"):
            found = gpu.encode_batch(texts, add_special_tokens=extra, output=cast("Any", output))
            assert found.to_host() == wanted


@pytest.mark.parametrize("batch_bytes", [1, 100, 1000])
def test_batches_are_cut_between_documents(bench: Bench, batch_bytes: int) -> None:
    gpu = bench.gpu(batch_bytes=batch_bytes)
    for extra in (False, True):
        wanted = bench.tokenizer.encode_batch(TEXTS, add_special_tokens=extra)
        assert gpu.encode_batch(TEXTS, add_special_tokens=extra).to_host() == wanted


def test_documents_longer_than_the_device_takes_go_to_the_cpu(plain: Bench) -> None:
    gpu = plain.gpu(batch_bytes=200)
    gpu.encoder.longest, gpu.encoder.ring = 500, None
    texts = ["hello", "hello world " * 60, "", "ab " * 100]
    for output in ("device", "host"):
        found = gpu.encode_batch(texts, output=cast("Any", output))
        assert found.fallbacks == {"long_document": 1}
        assert found.to_host() == plain.tokenizer.encode_batch(texts)


def test_many_documents_in_any_order_of_blocks(plain: Bench) -> None:
    gpu = plain.gpu({"shuffle": 5})
    texts = random_texts(6000, seed=1, most=4)
    assert gpu.encode_batch(texts).to_host() == plain.tokenizer.encode_batch(texts)
    assert gpu.encode_batch(texts, add_special_tokens=True).to_host() == (
        plain.tokenizer.encode_batch(texts, add_special_tokens=True)
    )


@pytest.mark.parametrize("learn", [False, True])
def test_a_table_of_any_state_gives_the_same_ids(plain: Bench, learn: bool) -> None:
    gpu = plain.gpu(learn=learn, table_bits=10)
    for seed in (1, 2, 1):
        texts = random_texts(200, seed)
        assert gpu.encode_batch(texts).to_host() == plain.tokenizer.encode_batch(texts)


def test_documents_with_bytes_that_are_no_tokens_leave_the_others_alone(
    tmp_path: Path, kernel_folder: Path
) -> None:
    definition = small_definition()
    vocab = definition["model"]["vocab"]
    missing = alphabet()[0xAD]  # the last byte of the character below
    definition["model"]["vocab"] = {t: i for t, i in vocab.items() if t != missing}
    bench = Bench(Tokenizer.load(write(tmp_path, definition)), kernel_folder)
    gpu = bench.gpu(table_bits=16)
    texts = ["hello", "\u4e2d", "hello world " * 900, "\u4e2d\u6587 \u4e2d", "1234", ""] * 3
    wanted = bench.tokenizer.encode_batch(texts)  # the long ones reach over several tiles
    for _ in range(3):  # the table has learnt such words by then
        found = gpu.encode_batch(texts)
        assert found.fallbacks == {"added_token": 6}
        assert found.to_host() == wanted


def test_ids_around_texts_come_from_the_model(tmp_path: Path, kernel_folder: Path) -> None:
    definition = small_definition()
    vocab = definition["model"]["vocab"]
    definition["model"]["merges"] = []
    missing = {*"abcdefghij", *(token for token in vocab if len(token) > 1)}
    definition["model"]["vocab"] = {t: i for t, i in vocab.items() if t not in missing}
    bench = Bench(Tokenizer.load(write(tmp_path, definition)), kernel_folder)
    gpu = bench.gpu()
    for texts in (["", "k", "lm"], TEXTS):
        wanted = bench.tokenizer.encode_batch(texts, add_special_tokens=True)
        assert gpu.encode_batch(texts, add_special_tokens=True).to_host() == wanted


def test_results_are_shown(gpu: DeviceTokenizer) -> None:
    batch = gpu.encode_batch(["hello", "hello world"])
    assert isinstance(batch, GpuTokenBatch)
    assert repr(batch) == "GpuTokenBatch(2 rows, 3 int32 ids on host:0)"
    assert isinstance(batch.to_host(), TokenBatch)

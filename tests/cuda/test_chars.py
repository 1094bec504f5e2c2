"""Vocabularies over characters on a device: ids, and what is left to the CPU."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.char_tokenizers import RUNS, char_definition, char_texts, one_added_text
from tests.cuda.model_checks import assert_nvrtc_takes, assert_refused, on_device
from tests.cuda.tokenizers_small import write

from tokenmill import Tokenizer
from tokenmill._cuda.char_tables import added_runs, joined_pairs

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("front", "first", "runs")


def load(folder: Path, seed: int, kind: str) -> Tokenizer:
    return Tokenizer.load(write(folder, char_definition(seed, kind)))


@pytest.mark.parametrize("tile", [8192, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_engine(kind: str, tile: int, tmp_path: Path, folder: Path) -> None:
    for seed in range(3):
        tokenizer = load(tmp_path, seed, kind)
        gpu = on_device(tokenizer, folder, tile=tile)
        texts = char_texts(seed + 10, 300)
        for _ in range(2):
            found = gpu.encode_batch(texts)
            assert found.to_host() == tokenizer.encode_batch(texts)
        # Only the word of 9000 bytes, and runs of newlines that are longer than any token.
        long_runs = sum(b"\n" * (RUNS + 1) in text for text in texts) if kind == "runs" else 0
        assert found.fallbacks == {"long_word": 1 + long_runs}


@pytest.mark.parametrize("tile", [8192, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_added_tokens_in_any_place(kind: str, tile: int, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 5, kind)
    parts = ["<s>", "</s>", "<s", "<", " ", "  ", "a", "ab", "\n", "\n\n", "\t", "\u4e2d", "<unk>"]
    choose = random.Random(2)  # noqa: S311
    texts = ["".join(choose.choices(parts, k=choose.randrange(40))) for _ in range(400)]
    gpu = on_device(tokenizer, folder, tile=tile)
    for special in ("encode", "text"):
        for _ in range(2):
            found = gpu.encode_batch(texts, special_in_text=special)
            assert found.to_host() == tokenizer.encode_batch(texts, special_in_text=special)
            # A blank before the first text only; runs of newlines longer than any token.
            left = {"front": set(), "first": {"added_token"}, "runs": {"long_word"}}
            assert set(found.fallbacks) <= left[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_device_leaves_to_the_cpu(kind: str, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 1, kind)
    texts = char_texts(3, 200, odd=True)
    found = on_device(tokenizer, folder).encode_batch(texts, errors="replace")
    assert found.to_host() == tokenizer.encode_batch(texts, errors="replace")
    reasons = {"not_normalized", "invalid_utf8", "long_word"}
    assert set(found.fallbacks) == reasons | ({"added_token"} if kind == "first" else set())


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_are_full_or_never_learn(kind: str, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 2, kind)
    texts = char_texts(5, 400)
    expected = tokenizer.encode_batch(texts)
    for options in ({"table_bits": 10}, {"learn": False}, {"batch_bytes": 1 << 16}):
        gpu = on_device(tokenizer, folder, **options)
        for _ in range(2):
            assert gpu.encode_batch(texts, dtype="uint16").to_host() == expected


def test_special_tokens_as_text(tmp_path: Path, folder: Path) -> None:
    for kind in KINDS:
        tokenizer = load(tmp_path, 4, kind)
        texts = [b"a<s>b", b"<s>", b"\n\n\t\n", b" <s>", b"</s", b""]
        found = on_device(tokenizer, folder).encode_batch(texts, special_in_text="text")
        assert found.to_host() == tokenizer.encode_batch(texts, special_in_text="text")
        assert not found.fallbacks


def test_runs_that_are_added_tokens_need_no_search(tmp_path: Path) -> None:
    facts = load(tmp_path, 0, "runs")._model.device_tables()
    assert added_runs(facts).longest == {9: 1, 10: RUNS}
    assert added_runs(facts).limit == RUNS
    assert added_runs(facts).mask == 1 << 10
    bits = joined_pairs(facts, added_runs(facts)).reshape(8, 256)
    assert bits[0, 10] == 1 << 10  # a newline is joined to newlines only
    assert not bits[:, 9].any()
    tokens = facts["added_tokens"].reshape(-1, 2)
    other, special = tokens + np.array([1, 0]), tokens | np.array([0, 1])
    for added in (other, special):
        changed = {**facts, "added_tokens": added.astype(np.uint32).reshape(-1)}
        assert not added_runs(changed).longest
    longer = {**facts, **one_added_text(b"\n<", 0)}
    assert 10 not in added_runs(longer).longest
    assert not added_runs(load(tmp_path, 0, "front")._model.device_tables()).longest


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"first_byte_id": 0}, "unsupported_model"),
        ({"rule": {"family": 0}}, "unsupported_split"),
        ({"has_respelling": True}, "unsupported_normalizer"),
        ({"prefix_space": 1}, "unsupported_normalizer"),
        ({"normalizer": b"\x05"}, "unsupported_normalizer"),
        (one_added_text(b" x", 2), "unsupported_normalizer"),
    ],
)
def test_characters_that_the_kernels_cannot_run(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    assert_refused(load(tmp_path, 0, "front"), changes, reason)


def test_nvrtc_takes_the_kernels_over_characters(tmp_path: Path) -> None:
    assert_nvrtc_takes(load(tmp_path, 0, "runs"))


def test_neighbours_are_joined_if_a_token_has_both(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, 0, "front")
    facts = tokenizer._model.device_tables()
    bits = joined_pairs(facts, added_runs(facts)).reshape(8, 256)
    data, offsets = facts["token_bytes"].tobytes(), facts["token_offsets"].astype(np.int64)
    expected = set()
    for number in np.flatnonzero(facts["token_reachable"]).tolist():
        text = data[offsets[number] : offsets[number + 1]].decode()
        leads = [character.encode()[0] for character in text]
        expected |= set(itertools.pairwise(leads))
    found = {(a, b) for a in range(256) for b in range(256) if bits[b // 32, a] >> b % 32 & 1}
    assert found == expected

"""Unigram on a device: ids, and what is left to the CPU."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.char_tokenizers import one_added_text
from tests.cuda.model_checks import assert_nvrtc_takes, assert_refused, on_device
from tests.cuda.sanitized import run_sanitized
from tests.cuda.tokenizers_small import write
from tests.cuda.word_tokenizers import unigram_definition, word_texts

from tokenmill import Tokenizer, _core
from tokenmill._cuda.word_tables import GONE, MARK, PART, UNSAFE, WHITE, char_tables

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill._cuda.device_tokenizer import DeviceTokenizer

KINDS = ("squeezed", "shortened", "plain")
# What depends on neighbours under a map, or is left to the CPU for its size.
ODD = ["e\u0301", "\u00b4", "\u3300", "\u0600a", "\ud7b0", "a\u0e34"]
WHITE_TEXT = [
    " ",
    "  ",
    "\n",
    " \n ",
    "\t",
    "\u3000",
    "\u200b",
    "\ufeff",
    "a",
    "ab",
    "\u4e2d\u6587",
    ".",
]


def load(folder: Path, seed: int, kind: str) -> Tokenizer:
    return Tokenizer.load(write(folder, unigram_definition(seed, kind)))


def check(gpu: DeviceTokenizer, tokenizer: Tokenizer, texts: list[Any]) -> dict[str, int]:
    for _ in range(2):
        found = gpu.encode_batch(texts, errors="replace")
        assert found.to_host() == tokenizer.encode_batch(texts, errors="replace")
    return dict(found.fallbacks)


@pytest.mark.parametrize("tile", [8192, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_engine(kind: str, tile: int, tmp_path: Path, folder: Path) -> None:
    for seed in range(3):
        tokenizer = load(tmp_path, seed, kind)
        gpu = on_device(tokenizer, folder, tile=tile)
        reasons = check(gpu, tokenizer, word_texts(seed + 10, 300))
        assert set(reasons) <= {"long_word", "not_normalized"}
        choose = random.Random(seed)  # noqa: S311
        letters = [*"abc1. \n", "\u4e2d", "\u6587", "\u00e9", "  "]
        plain = ["".join(choose.choices(letters, k=choose.randrange(60))) for _ in range(300)]
        assert not check(gpu, tokenizer, plain)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_device_leaves_to_the_cpu(kind: str, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 1, kind)
    texts: list[Any] = word_texts(3, 200, [*ODD, "</s>"])
    texts += [b"a\xff", b"\xe4\xb8", b"\xad", b"ab\xf0\x9f\x98", b"\xed\xa0\x80", b"\x80\x80"]
    reasons = check(on_device(tokenizer, folder), tokenizer, texts)
    wanted = {"invalid_utf8", "long_word"}
    assert set(reasons) == wanted | ({"not_normalized"} if kind != "plain" else set())


@pytest.mark.parametrize("kind", KINDS)
def test_white_space_at_both_ends_and_tokens_between(
    kind: str, tmp_path: Path, folder: Path
) -> None:
    tokenizer = load(tmp_path, 4, kind)
    choose = random.Random(6)  # noqa: S311
    parts = [*WHITE_TEXT, "</s>"]
    texts = ["".join(choose.choices(parts, k=choose.randrange(9))) for _ in range(900)]
    for tile in (8192, 32):
        gpu = on_device(tokenizer, folder, tile=tile)
        assert not check(gpu, tokenizer, texts)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_are_full_or_never_learn(kind: str, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 2, kind)
    texts = word_texts(5, 300)
    for options in ({"table_bits": 10}, {"learn": False}, {"batch_bytes": 1 << 16}):
        check(on_device(tokenizer, folder, **options), tokenizer, texts)


def test_classes_of_characters(tmp_path: Path) -> None:
    tables = char_tables(load(tmp_path, 0, "squeezed")._model.device_tables())
    found = {
        "a": PART, "A": PART, ".": PART, "\u4e2d": PART, "\u00bd": PART, " ": WHITE, "\n": WHITE,
        "\r": WHITE, "\u3000": WHITE, "\x01": GONE, "\ufeff": GONE, "\u0301": UNSAFE,
        "\u0e34": MARK, "\u00b4": UNSAFE, "\u3300": UNSAFE, "\u0600": UNSAFE,
    }  # fmt: skip
    for character, wanted in found.items():
        assert tables.rule_basic[ord(character)] == wanted, ascii(character)


def test_characters_become_what_the_map_makes_of_their_text(tmp_path: Path) -> None:
    """Characters that are not left to the CPU, in any order: each becomes the same as alone."""
    facts = load(tmp_path, 0, "shortened")._model.device_tables()
    program = facts["normalizer"]
    only_map = program[: 5 + int.from_bytes(program[1:5], "little")]
    basic = char_tables(facts).rule_basic
    alone = {
        code: _core.normalize(only_map, chr(code).encode())
        for code in np.flatnonzero((basic & UNSAFE) == 0).tolist()
    }
    marks = np.array([code for code in alone if basic[code] & MARK])
    others = np.array([code for code in alone if not basic[code] & MARK])
    long = others[others >= 0x800]
    choose = np.random.default_rng(4)
    for _ in range(20):
        codes = [*choose.permutation(others)[:6000].tolist()]
        for mark in choose.choice(marks, 3000).tolist():  # after a long one, or another mark
            codes += [int(choose.choice(long)), mark, *([mark] * int(choose.integers(2)))]
        text = "".join(map(chr, codes)).encode()
        assert _core.normalize(only_map, text) == b"".join(alone[code] for code in codes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": b"\x05"}, "unsupported_normalizer"),
        ({"prefix_space": 2}, "unsupported_normalizer"),
        ({"has_respelling": True}, "unsupported_normalizer"),
        (one_added_text(b"x", 2), "unsupported_normalizer"),
        ({"joins": np.zeros(7, np.uint8)}, "unsupported_split"),
        ({"whole_text": True}, "unsupported_model"),
        ({"has_byte_ids": True}, "unsupported_model"),
        ({"unknown_score": 1.0}, "unsupported_model"),
        ({"unk_id": 0xFFFFFFFF}, "unsupported_model"),
    ],
)
def test_pieces_that_the_kernels_cannot_find(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    assert_refused(load(tmp_path, 0, "squeezed"), changes, reason)


def test_nvrtc_takes_the_kernels_of_pieces(tmp_path: Path) -> None:
    assert_nvrtc_takes(load(tmp_path, 0, "shortened"))


def test_other_models_under_sanitizers(folder: Path) -> None:
    run = run_sanitized(folder, "tests.cuda.sanitized_models")
    assert run.stdout == "clean\n", run.stderr[-3000:]

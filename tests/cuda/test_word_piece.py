"""WordPiece on a device: ids, and what is left to the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cuda.char_tokenizers import one_added_text
from tests.cuda.model_checks import assert_nvrtc_takes, assert_refused, on_device
from tests.cuda.tokenizers_small import write
from tests.cuda.word_tokenizers import UNSAFE, word_piece_definition, word_texts

from tokenmill import Tokenizer, _core
from tokenmill._cuda.word_tables import ALONE, GONE, PART, WHITE, char_tables
from tokenmill._cuda.word_tables import UNSAFE as LEFT

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("uncased", "cased", "lower")


def load(folder: Path, seed: int, kind: str) -> Tokenizer:
    return Tokenizer.load(write(folder, word_piece_definition(seed, kind)))


@pytest.mark.parametrize("tile", [8192, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_engine(kind: str, tile: int, tmp_path: Path, folder: Path) -> None:
    for seed in range(3):
        tokenizer = load(tmp_path, seed, kind)
        gpu = on_device(tokenizer, folder, tile=tile)
        texts = word_texts(seed + 10, 300)
        for _ in range(2):
            found = gpu.encode_batch(texts)
            assert found.to_host() == tokenizer.encode_batch(texts)
        assert found.fallbacks == {"long_word": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_device_leaves_to_the_cpu(kind: str, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 1, kind)
    texts = word_texts(3, 200, [*UNSAFE, "[CLS]", "\u200b" * 20])
    texts += [b"a\xff", b"\xe4\xb8", b"\xad", b"ab\xf0\x9f\x98", b"\xed\xa0\x80", b"\x80\x80"]
    found = on_device(tokenizer, folder).encode_batch(texts, errors="replace")
    assert found.to_host() == tokenizer.encode_batch(texts, errors="replace")
    reasons = {"invalid_utf8", "long_word", "no_sync"}
    assert set(found.fallbacks) == reasons | ({"not_normalized"} if kind == "uncased" else set())


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_are_full_or_never_learn(kind: str, tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 2, kind)
    texts = word_texts(5, 400)
    expected = tokenizer.encode_batch(texts)
    for options in ({"table_bits": 10}, {"learn": False}, {"batch_bytes": 1 << 16}):
        gpu = on_device(tokenizer, folder, **options)
        for _ in range(2):
            assert gpu.encode_batch(texts, dtype="uint16").to_host() == expected


def test_text_without_any_ids(tmp_path: Path, folder: Path) -> None:
    tokenizer = load(tmp_path, 0, "uncased")
    texts = ["", " ", "\n\n \t", "\u200b", "\u0301", " \u200b a", "a \n", " " * 70, "\x00 \x00b"]
    gpu = on_device(tokenizer, folder)
    for _ in range(2):
        found = gpu.encode_batch(texts, add_special_tokens=True)
        assert found.to_host() == tokenizer.encode_batch(texts, add_special_tokens=True)
    assert not found.fallbacks


def test_classes_of_characters(tmp_path: Path) -> None:
    tables = char_tables(load(tmp_path, 0, "uncased")._model.device_tables())
    found = {
        "a": PART, "A": PART, "\u00e9": PART, "\ud55c": PART, " ": WHITE, "\n": WHITE,
        "\u3000": WHITE, ".": ALONE, "\u4e2d": ALONE, "\uf900": ALONE, "\x00": GONE,
        "\u0301": GONE, "\u200b": GONE, "\u302e": LEFT, "\u0378": LEFT,
    }  # fmt: skip
    for character, wanted in found.items():
        assert tables.rule_basic[ord(character)] == wanted, ascii(character)


@pytest.mark.parametrize("kind", KINDS)
def test_characters_become_what_the_normalizer_makes_of_their_text(
    kind: str, tmp_path: Path
) -> None:
    """Characters that are not left to the CPU, in any order: each becomes the same as alone."""
    facts = load(tmp_path, 0, kind)._model.device_tables()
    program = facts["normalizer"]
    basic = char_tables(facts).rule_basic
    safe = [chr(code) for code in np.flatnonzero(basic != LEFT).tolist()]
    alone = {c: _core.normalize(program, c.encode()) for c in safe}
    random = np.random.default_rng(4)
    for _ in range(4):
        order = random.permutation(len(safe)).tolist()
        text = "".join(safe[i] for i in order)
        assert _core.normalize(program, text.encode()) == b"".join(alone[c] for c in text)


def test_characters_that_are_rewritten() -> None:
    codes, data, ends, slow = _core.rewrite_characters(b"\x05")  # lower case
    begins = [0, *ends[:-1].tolist()]
    found = {
        chr(code): data[begin:end].tobytes().decode()
        for code, begin, end in zip(codes.tolist(), begins, ends.tolist(), strict=True)
    }
    assert found["A"] == "a"
    assert found["\u0130"] == "i\u0307"
    assert "a" not in found
    assert slow.size == 0
    assert 0x301 in _core.rewrite_characters(b"\x02")[3].tolist()  # it may move


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"normalizer": b"\x0a\x01"}, "unsupported_normalizer"),
        ({"normalizer": b""}, "unsupported_normalizer"),
        ({"prefix_space": 1}, "unsupported_normalizer"),
        (one_added_text(b"x", 2), "unsupported_normalizer"),
        ({"drop_white": False}, "unsupported_split"),
        ({"joins": np.zeros(7, np.uint8)}, "unsupported_split"),
        ({"unk_id": 0xFFFFFFFF}, "unsupported_model"),
        ({"kind": 4}, "unsupported_model"),
    ],
)
def test_words_that_the_kernels_cannot_look_up(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    assert_refused(load(tmp_path, 0, "uncased"), changes, reason)


def test_nvrtc_takes_the_kernels_of_word_pieces(tmp_path: Path) -> None:
    assert_nvrtc_takes(load(tmp_path, 0, "uncased"))

"""Files that are damaged, or made to do damage, give a typed error at once."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
import sentencepiece
from tests.load.sentencepiece_models import (
    BPE,
    BYTE,
    BYTES,
    UNK,
    Piece,
    bytes_field,
    compiled_charsmap,
    model_file,
    number_field,
    piece_field,
    varint,
)
from tests.reference.sentencepiece import ReferenceSentencePiece

from tokenmill import LoadError
from tokenmill._load.protobuf import read_fields
from tokenmill._load.sentencepiece import read_sentencepiece
from tokenmill._load.source import load_source

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 20  # seconds of the processor; some thousand times what it takes
A = Piece("a", -1.0)
GOOD = piece_field(UNK) + piece_field(A)


@pytest.fixture(scope="module")
def charsmap(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled_charsmap(tmp_path_factory.mktemp("rules"))


def read_or_refuse(data: bytes) -> bool:
    """Read at once; what can be read must also run."""
    start = time.process_time()
    try:
        spec = read_sentencepiece(data, "x")
    except LoadError:
        return False
    finally:
        assert time.process_time() - start < AT_ONCE
    if not spec.unsupported:
        ReferenceSentencePiece(spec).encode("ab \ufb01AB <x>e\u4e2d")
    return True


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (GOOD[:-1], "byte 16: expected at most 7 bytes in a field, got 8"),
        (GOOD + b"\x0a", "byte 27: expected a number, got the end of its message"),
        (GOOD + b"\xff" * 12, "byte 26: expected a number of at most ten bytes"),
        (GOOD + bytes_field(1, b"")[:1] + varint(1 << 62), "byte 26: expected at most 0 bytes"),
        (GOOD + b"\x00\x01", "byte 26: expected a field number"),
        (GOOD + varint(1 << 40), "byte 26: expected a field number"),
        (GOOD + b"\x0e", "byte 27: expected the beginning of a field, got wire type 6"),
        (GOOD + b"\x0d\x00", "byte 27: expected 4 bytes in field 1, got 1"),
        (GOOD + b"\x0c", "byte 27: expected the beginning of a field"),
        (GOOD + b"\x1b\x24", "byte 27: expected groups that end"),
        (GOOD + b"\x1b" * 200, "byte 126: expected groups that end"),
        (GOOD + piece_field(A), "expected every piece once, got b'a'"),
        (GOOD + piece_field(Piece("")), "expected a piece of 1 to 7999 bytes"),
        (GOOD + piece_field(Piece("x" * 8000)), "expected a piece of 1 to 7999 bytes"),
        (GOOD + piece_field(Piece("x\0")), "expected a piece of 1 to 7999 bytes"),
        (GOOD + bytes_field(1, bytes_field(1, b"\xff")), r"in UTF-8, got b'\\xff'"),
        (GOOD + piece_field(Piece("n", float("nan"))), "expected a score, got nan"),
        (piece_field(UNK), "expected pieces that a text can hold, got none"),
        (piece_field(A), "expected one piece of the type unknown, got 0"),
        (GOOD + piece_field(Piece("u", 0.0, 2)), "one piece of the type unknown, got 2"),
        (GOOD + piece_field(BYTES[0]), "expected no byte pieces, got b'<0x00>'"),
        (model_file([UNK, Piece("q", 0.0, BYTE)], byte_fallback=True), "'<0x00>' to '<0xFF>', got"),
        (model_file([UNK, A, *BYTES[1:]], byte_fallback=True), "each of the 256 bytes, got 255"),
        (GOOD + bytes_field(2, bytes_field(44, b"\xff")), "text for unknown pieces in UTF-8"),
        (GOOD + bytes_field(3, bytes_field(2, b"\0")), "charsmap: expected a trie"),
        (GOOD + bytes_field(3, bytes_field(2, b"\xff" * 3000)), "charsmap: expected a trie"),
        (
            GOOD + bytes_field(3, bytes_field(2, b"\0\x04\0\0" + b"\xff" * 1024 + b"\0")),
            "charsmap: expected a trie that stays inside",
        ),
    ],
)
def test_what_is_wrong_is_said(data: bytes, problem: str) -> None:
    with pytest.raises(LoadError, match=problem):
        read_sentencepiece(data, "x")
    # Only texts that are not UTF-8 does the library take.
    if "UTF-8" not in problem:
        with pytest.raises(RuntimeError):
            sentencepiece.SentencePieceProcessor(model_proto=data)


def test_what_is_unknown_is_skipped() -> None:
    group = b"\xeb\x04" + number_field(1, 5) + b"\x13\x14" + bytes_field(9, b"x") + b"\xec\x04"
    fields = number_field(500, 1 << 63) + b"\x99\x3f" + b"8" * 8 + group
    wrong_type = bytes_field(1, bytes_field(1, b"q") + bytes_field(3, b"") + number_field(3, 99))
    spec = read_sentencepiece(GOOD + fields + wrong_type + number_field(2, 1), "x")
    assert spec.texts == ("<unk>", "a", "q")
    library = sentencepiece.SentencePieceProcessor(model_proto=spec.source)
    assert ReferenceSentencePiece(spec).encode("aqx") == library.encode("aqx") == [0, 1, 2, 0]


def test_the_path_and_the_byte_are_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(GOOD[:-1])
    with pytest.raises(LoadError, match=r"tokenizer\.model at byte 16: expected") as caught:
        load_source(path)
    assert (caught.value.path, caught.value.offset) == (path, 16)


def test_every_beginning_of_a_file(charsmap: bytes) -> None:
    data = model_file([UNK, A, Piece("ab", -2.0)], charsmap=charsmap)
    step = max(1, len(data) // 300)
    readable = [read_or_refuse(data[:size]) for size in (*range(90), *range(90, len(data), step))]
    # Cut between two fields, it is a smaller file.
    assert 1 <= sum(readable) < 5
    assert read_or_refuse(data)


@pytest.mark.parametrize("model_type", [1, BPE])
def test_flipped_bits(charsmap: bytes, model_type: int) -> None:
    choose = random.Random(model_type)  # noqa: S311
    pieces = [UNK, A, Piece("b", -1.0), Piece("<x>", 0.0, 4), Piece("ab", -2.0)]
    data = model_file(pieces, model_type=model_type, charsmap=charsmap)
    head = len(data) - len(charsmap)
    refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(choose.choice((1, 1, 1, 3, 20))):
            at = choose.randrange(head if choose.random() < 0.5 else len(data))
            damaged[at] ^= 1 << choose.randrange(8)
        refused += not read_or_refuse(bytes(damaged))
    assert refused > 60


def test_random_bytes() -> None:
    choose = random.Random(4)  # noqa: S311
    for _ in range(300):
        data = choose.randbytes(choose.randrange(1, 3000))
        assert not read_or_refuse(b"\n\x05\n" + data)
        assert not read_or_refuse(GOOD + data) or len(data) < 9


def test_much_of_nothing() -> None:
    assert not read_or_refuse(b"\n\0" * 50_000)
    assert not read_or_refuse(GOOD + b"\x1b" * 300_000)
    assert not read_or_refuse(GOOD + b"\x12\x80" * 50_000)
    assert len(read_fields(b"\x08\x00" * 50_000, 0, 100_000)) == 50_000

"""SentencePiece files for tests: written byte by byte, at random, or trained by the library."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import sentencepiece

from tokenmill._load.sentencepiece_file import read_model_file

if TYPE_CHECKING:
    import random
    from pathlib import Path

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
SPACE = "\u2581"
# "a b" -> "b", "c" -> nothing, "d" -> blank, "e" -> blank e blank, "AB" -> "<x>", "A" -> "a".
RULES = "61 20 62\t62\n63\t\n64\t20\n65\t20 65 20\n41 42\t3c 78 3e\n41\t61\nFB01\t66 69\n"


class Piece(NamedTuple):
    text: str
    score: float = 0.0
    type: int = NORMAL


UNK = Piece("<unk>", 0.0, UNKNOWN)
BYTES = [Piece(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def bytes_field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def float_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def piece_field(piece: Piece) -> bytes:
    content = bytes_field(1, piece.text.encode()) + float_field(2, piece.score)
    return bytes_field(1, content + (number_field(3, piece.type) if piece.type != NORMAL else b""))


def model_file(
    pieces: list[Piece],
    *,
    model_type: int = UNIGRAM,
    byte_fallback: bool = False,
    suffix: bool = False,
    dummy: bool = False,
    remove_extra: bool = False,
    escape: bool = True,
    charsmap: bytes = b"",
    trainer: bytes = b"",
) -> bytes:
    """The content of a `.model`; `trainer` is appended to the trainer's options."""
    options = number_field(3, model_type) + number_field(24, suffix)
    options += number_field(35, byte_fallback) + trainer
    normalizer = bytes_field(2, charsmap) if charsmap else b""
    for number, value in ((3, dummy), (4, remove_extra), (5, escape)):
        normalizer += number_field(number, value)
    data = b"".join(piece_field(piece) for piece in pieces)
    return data + bytes_field(2, options) + bytes_field(3, normalizer)


def trained(lines: list[str], **options: Any) -> bytes:
    """Train a model of the library."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, minloglevel=2, num_threads=1, **options
    )
    return out.getvalue()


def compiled_charsmap(directory: Path) -> bytes:
    """Let the library compile `RULES`."""
    rules = directory / "rules.tsv"
    rules.write_text(RULES)
    data = trained(["a b"], model_type="char", vocab_size=10, normalization_rule_tsv=str(rules))
    return read_model_file(data).charsmap


def random_model(choose: random.Random, model_type: int, charsmap: bytes) -> bytes:
    """A small model with many pieces that overlap and many equal scores, all options at random."""
    byte_fallback = choose.random() < 0.3
    texts = {"<s>", "<x>"} if choose.random() < 0.5 else set()
    texts |= {choose.choice(("", SPACE)) + character for character in "ab" + SPACE * 2} - {""}
    for _ in range(choose.randrange(4, 30)):
        texts.add("".join(choose.choices("abc\u00e9<x>" + SPACE * 3, k=choose.randrange(1, 5))))
    if model_type == BPE:
        # So it is in all trained models; what is in longer pieces only, the spec cannot say.
        texts |= set("".join(texts))
    pieces = [UNK, *(BYTES if byte_fallback else [])]
    for text in sorted(texts):
        kinds = [NORMAL] * 8 + [USER_DEFINED, USER_DEFINED, CONTROL, UNUSED]
        # Unused pieces of BPE are taken apart again: the spec says that it cannot say so.
        if model_type == BPE and len(text) > 1:
            kinds.remove(UNUSED)
        pieces.append(Piece(text, -float(choose.randrange(1, 9)), choose.choice(kinds)))
    return model_file(
        pieces,
        model_type=model_type,
        byte_fallback=byte_fallback,
        suffix=choose.random() < 0.3,
        dummy=choose.random() < 0.6,
        remove_extra=choose.random() < 0.5,
        escape=choose.random() < 0.8,
        charsmap=charsmap if choose.random() < 0.5 else b"",
    )


def random_text(choose: random.Random) -> str:
    """A text of what the random models are about."""
    alphabet = "aabbcde\u00e9AB<x>s" + "   " + SPACE + "\u4e2d\U0001f600\x00\ufb01"
    return "".join(choose.choices(alphabet, k=choose.randrange(0, 24)))

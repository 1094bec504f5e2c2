"""A SentencePiece `.model` -> its pieces and options.

The file is one message in the wire format of protocol buffers. Files that
the library refuses are refused here as well; fields that do not affect ids or text are skipped.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from tokenmill._errors import LoadError
from tokenmill._load.fields import shown
from tokenmill._load.protobuf import BYTES, FIXED32, VARINT, WireField, damaged, read_fields

# Types of pieces.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
# Types of models.
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
BYTE_PIECES = {b"<0x%02X>" % byte: byte for byte in range(256)}
# Those that can be found in a text.
FROM_TEXT = (NORMAL, USER_DEFINED, UNUSED)
_MOST_PIECES = 1 << 24
_LONGEST_PIECE = 7999
_FLOAT = struct.Struct("<f")


@dataclass
class SentencePieceFile:
    """The content of a file; the defaults are those of the format.

    `offsets[id]` is where the piece begins in the file. A file without a charsmap has an empty one.
    """

    pieces: list[bytes] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    model_type: int = UNIGRAM
    byte_fallback: bool = False
    whitespace_as_suffix: bool = False
    unk_surface: bytes = b" \xe2\x81\x87 "
    charsmap: bytes = b""
    charsmap_offset: int = 0
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    denormalizer_charsmap: bytes = b""


def is_sentencepiece(data: bytes) -> bool:
    """Tell whether a file begins with a message (field 1) that begins with a text (field 1)."""
    if data[:1] != b"\n" or data.lstrip()[:1] == b"{":
        return False
    after = next((at for at in range(1, min(len(data), 6)) if data[at] < 0x80), 6) + 1  # noqa: PLR2004
    return data[after : after + 1] == b"\n"


def read_model_file(data: bytes) -> SentencePieceFile:
    """Read and check a whole file; LoadError with the byte where it is wrong."""
    model = SentencePieceFile()
    for item in read_fields(data, 0, len(data)):
        if item.wire != BYTES:
            continue
        if item.number == 1:
            _read_piece(data, item, model)
        elif item.number == 2:  # noqa: PLR2004 -- the numbers of the format
            _read_trainer(data, item, model)
        elif item.number in (3, 5):
            _read_normalizer(data, item, model)
    _check(model)
    return model


def _read_piece(data: bytes, item: WireField, model: SentencePieceFile) -> None:
    start, end = item.start, item.end
    model.offsets.append(start)
    score_at = _plain_score_at(data, start, end)
    if not score_at:
        _read_any_piece(data, item, model)
        return
    model.pieces.append(data[start + 2 : score_at])
    model.scores.append(_FLOAT.unpack_from(data, score_at + 1)[0])
    model.types.append(NORMAL if score_at + 5 == end else data[end - 1])


def _plain_score_at(data: bytes, start: int, end: int) -> int:
    """Return where the score is in a piece of the usual form: text, score, perhaps a type."""
    if end - start < 7 or data[start] != 0x0A or data[start + 1] >= 0x80:  # noqa: PLR2004
        return 0
    at = start + 2 + data[start + 1]
    if at + 5 == end:
        return at if data[at] == 0x15 else 0  # noqa: PLR2004
    if at + 7 != end or data[at] != 0x15 or data[at + 5] != 0x18:  # noqa: PLR2004
        return 0
    return at if NORMAL <= data[end - 1] <= BYTE else 0


def _read_any_piece(data: bytes, item: WireField, model: SentencePieceFile) -> None:
    piece, score, kind = b"", 0.0, NORMAL
    for part in read_fields(data, item.start, item.end):
        if (part.number, part.wire) == (1, BYTES):
            piece = data[part.start : part.end]
        elif (part.number, part.wire) == (2, FIXED32):
            score = _FLOAT.unpack(part.value.to_bytes(4, "little"))[0]
        # A type that the format does not have counts as absent, as in the library.
        elif (part.number, part.wire) == (3, VARINT) and NORMAL <= part.value <= BYTE:
            kind = part.value
    model.pieces.append(piece)
    model.scores.append(score)
    model.types.append(kind)


def _read_trainer(data: bytes, item: WireField, model: SentencePieceFile) -> None:
    for part in read_fields(data, item.start, item.end):
        if (part.number, part.wire) == (3, VARINT) and UNIGRAM <= part.value <= CHAR:
            model.model_type = part.value
        elif (part.number, part.wire) == (24, VARINT):
            model.whitespace_as_suffix = part.value != 0
        elif (part.number, part.wire) == (35, VARINT):
            model.byte_fallback = part.value != 0
        elif (part.number, part.wire) == (44, BYTES):
            model.unk_surface = data[part.start : part.end]


def _read_normalizer(data: bytes, item: WireField, model: SentencePieceFile) -> None:
    for part in read_fields(data, item.start, item.end):
        content = data[part.start : part.end]
        if item.number != 3:  # noqa: PLR2004 -- the denormalizer
            if (part.number, part.wire) == (2, BYTES):
                model.denormalizer_charsmap = content
        elif (part.number, part.wire) == (2, BYTES):
            model.charsmap, model.charsmap_offset = content, part.start
        elif (part.number, part.wire) == (3, VARINT):
            model.add_dummy_prefix = part.value != 0
        elif (part.number, part.wire) == (4, VARINT):
            model.remove_extra_whitespaces = part.value != 0
        elif (part.number, part.wire) == (5, VARINT):
            model.escape_whitespaces = part.value != 0


def _check(model: SentencePieceFile) -> None:
    if len(model.pieces) > _MOST_PIECES:
        raise LoadError(f"expected at most {_MOST_PIECES} pieces, got {len(model.pieces)}")
    for index, piece in enumerate(model.pieces):
        if not 0 < len(piece) <= _LONGEST_PIECE or b"\0" in piece:
            problem = f"expected a piece of 1 to {_LONGEST_PIECE} bytes, none of them 0"
            raise damaged(f"{problem}, got {shown(piece)}", model.offsets[index])
    _check_twins(model)
    _check_bytes(model)
    if model.types.count(UNKNOWN) != 1:
        problem = f"expected one piece of the type unknown, got {model.types.count(UNKNOWN)}"
        raise LoadError(problem, hint="the file is damaged, or not a SentencePiece model")
    if model.model_type == UNIGRAM:
        _check_scores(model)
    _check_text(model)


def _check_twins(model: SentencePieceFile) -> None:
    """Refuse duplicate pieces; most models keep pieces of texts apart from reserved ones."""
    seen = set()
    for index, piece in enumerate(model.pieces):
        in_text = model.model_type == BPE or model.types[index] in FROM_TEXT
        if (piece, in_text) in seen:
            raise damaged(f"expected every piece once, got {shown(piece)}", model.offsets[index])
        seen.add((piece, in_text))


def _check_bytes(model: SentencePieceFile) -> None:
    found = set()
    for index, kind in enumerate(model.types):
        if kind != BYTE:
            continue
        byte = BYTE_PIECES.get(model.pieces[index])
        if byte is None or not model.byte_fallback:
            wanted = "'<0x00>' to '<0xFF>'" if model.byte_fallback else "no byte pieces"
            problem = f"expected {wanted}, got {shown(model.pieces[index])}"
            raise damaged(problem, model.offsets[index])
        found.add(byte)
    if model.byte_fallback and len(found) != len(BYTE_PIECES):
        raise LoadError(f"expected a piece for each of the 256 bytes, got {len(found)}")


def _check_scores(model: SentencePieceFile) -> None:
    if not any(kind in FROM_TEXT for kind in model.types):
        raise LoadError("expected pieces that a text can hold, got none")
    for index, score in enumerate(model.scores):
        if not math.isfinite(score):
            raise damaged(f"expected a score, got {score}", model.offsets[index])


def _check_text(model: SentencePieceFile) -> None:
    for index, piece in enumerate(model.pieces):
        try:
            piece.decode()
        except UnicodeDecodeError:
            problem = f"expected a piece in UTF-8, got {shown(piece)}"
            raise damaged(problem, model.offsets[index]) from None
    try:
        model.unk_surface.decode()
    except UnicodeDecodeError:
        problem = f"expected a text for unknown pieces in UTF-8, got {shown(model.unk_surface)}"
        raise LoadError(problem) from None

"""The Unigram "model" section of a tokenizer.json -> UnigramModel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import LoadError
from tokenmill._load.fields import expect, member, shown
from tokenmill._load.vocabulary import ReadModel, read_byte_ids, utf8_of_tokens
from tokenmill._spec import UnigramModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_DIGITS = 18  # digits of a number that fits into 63 bits
_LARGEST = (1 << 64) - 1
_LONGEST_POWER, _LARGEST_POWER = 8, 5000
_TENS = np.array([float(f"1e{exponent}") for exponent in range(309)])


def read_pieces(section: dict[str, Any]) -> dict[str, int]:
    """Read [[piece, score], ...] as {piece: id}; the last of equal pieces wins."""
    pieces = member(section, "vocab", list, "model")
    try:
        ids = {text: index for index, (text, _) in enumerate(pieces)}
        kinds = set(map(type, ids)), {type(score) for _, score in pieces}
    except (TypeError, ValueError):
        raise _piece_error(pieces) from None
    if pieces and not (kinds[0] == {str} and kinds[1] <= {int, float}):
        raise _piece_error(pieces)
    return ids


def read_unigram(section: dict[str, Any], vocab: dict[str, int], source: bytes | None) -> ReadModel:
    """Read a Unigram model; `source` is the file's text, None where scores are exact already."""
    pieces = section["vocab"]
    tokens: list[bytes | None] = [None] * len(pieces)
    for piece, token_id in zip(utf8_of_tokens(vocab), vocab.values(), strict=True):
        tokens[token_id] = piece or None
    unk_id, reasons = _read_unknown(section, len(pieces))
    byte_ids = None
    if "byte_fallback" in section and member(section, "byte_fallback", bool, "model"):
        byte_ids, partly = read_byte_ids(vocab)
        reasons += partly
    scores = _exact_scores(pieces)
    if source is not None:
        scores = _scores_as_parsed(source)
    return ReadModel(UnigramModel(tuple(tokens), scores, unk_id, byte_ids), reasons)


def _read_unknown(section: dict[str, Any], size: int) -> tuple[int | None, list[str]]:
    if section.get("unk_id") is None:
        return None, ["model.unk_id is null: a character without a piece is an error"]
    unk_id = expect(section["unk_id"], int, "model.unk_id")
    if not 0 <= unk_id < size:
        problem = f"expected the id of one of {size} pieces, got {unk_id}"
        raise LoadError(f"model.unk_id: {problem}")
    return unk_id, []


def _exact_scores(pieces: list[Any]) -> NDArray[np.float64]:
    try:
        scores = np.array([float(score) for _, score in pieces], dtype=np.float64)
    except OverflowError:
        scores = np.array([np.inf])
    return _finite(scores)


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if np.isfinite(scores).all():
        return scores
    raise LoadError("model.vocab: expected scores that are finite, got one that is not")


def _scores_as_parsed(source: bytes) -> NDArray[np.float64]:
    """Return the scores as the library reads them, which is not to the nearest float64.

    It takes the digits as one whole number of at most 64 bits, cuts off the rest, and multiplies
    or divides that once by a power of ten, so the last bit often differs. A path that is better by
    one bit wins, so that bit matters.
    """
    pieces = json.loads(source, parse_float=str, parse_int=str)["model"]["vocab"]
    literals = [literal for _, literal in pieces]
    signs = np.array([-1.0 if literal[0] == "-" else 1.0 for literal in literals])
    parts = [_significand(literal.lstrip("-").lower()) for literal in literals]
    digits = np.array([digits for digits, _ in parts], dtype=np.uint64).astype(np.float64)
    exponents = np.array([exponent for _, exponent in parts], dtype=np.int64)
    return signs * _scaled(digits, exponents)


def _significand(literal: str) -> tuple[int, int]:
    """Return "12.5e1" as (125, 0): digits that fit into 64 bits, and the power of ten."""
    mantissa, _, power = literal.partition("e")
    # Beyond that, every number is zero or too large, whatever its digits.
    exponent = min(max(int(power[:_LONGEST_POWER] or 0), -_LARGEST_POWER), _LARGEST_POWER)
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    if len(digits) <= _MOST_DIGITS:
        return int(digits), exponent - len(fraction)
    value = used = 0
    for used, digit in enumerate(digits):  # noqa: B007 -- how far it came is the result
        if value * 10 + int(digit) > _LARGEST:
            break
        value = value * 10 + int(digit)
    else:
        used = len(digits)
    return value, exponent + len(whole) - used


def _scaled(digits: NDArray[np.float64], exponents: NDArray[np.int64]) -> NDArray[np.float64]:
    while (small := exponents <= -len(_TENS)).any():
        digits = np.where(small, digits / 1e308, digits)
        exponents = np.where(small, exponents + 308, exponents)
    powers = np.append(_TENS, np.inf)[np.minimum(np.abs(exponents), len(_TENS))]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.where(exponents < 0, digits / powers, digits * powers)
    return _finite(np.where(digits == 0, 0.0, values))


def _piece_error(pieces: list[Any]) -> LoadError:
    """Find the entry that is wrong; only called when there is one."""
    for index, piece in enumerate(pieces):
        kinds = [type(part) for part in piece] if type(piece) is list else []
        if len(kinds) != 2 or kinds[0] is not str or kinds[1] not in (int, float):  # noqa: PLR2004
            place = f"model.vocab[{index}]"
            return LoadError(f"{place}: expected [piece, score], got {shown(piece)}")
    return LoadError("model.vocab: expected pairs [piece, score], got something else")

"""The BPE "model" section of a tokenizer.json -> BpeModel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import LoadError
from tokenmill._load.byte_level import UTF8_BYTES, bytes_of_tokens, decoded_bytes
from tokenmill._load.fields import member, optional, shown
from tokenmill._spec import BpeModel, OpaqueModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray


@dataclass
class ReadModel:
    """A model and the reasons why it cannot be run natively."""

    model: BpeModel | OpaqueModel
    reasons: list[str] = field(default_factory=list)


def read_bpe(
    section: dict[str, Any], vocab: dict[str, int], written: Mapping[int, str]
) -> ReadModel:
    """Read a BPE model whose words are bytes in the byte-level alphabet.

    `written` is what decoding writes for the ids of added tokens.
    """
    reasons = [
        f"model.{key} is {section[key]!r}"
        for key in ("continuing_subword_prefix", "end_of_word_suffix")
        if section.get(key)
    ]
    size = 1 + max(vocab.values(), default=-1)
    if size > 4 * len(vocab) + 1024:
        reasons.append(f"ids up to {size - 1} for {len(vocab)} tokens")
    if len(set(vocab.values())) != len(vocab):
        reasons.append("two tokens of the vocabulary share an id")
    if reasons:
        return ReadModel(OpaqueModel(size), reasons)
    texts = list(vocab)
    spelled = bytes_of_tokens(texts)
    tokens = _by_id(size, zip(vocab.values(), [s or None for s in spelled], strict=True))
    model = BpeModel(
        tokens=tuple(tokens),
        decode_bytes=_decode_table(vocab, spelled, written),
        merges=_read_merges(member(section, "merges", list, "model"), vocab, tokens),
        ranks=None,
        ignore_merges=optional(section, "ignore_merges", False, "model"),
    )
    return ReadModel(model, [*_dropout(section), *_missing_bytes(section, tokens)])


def read_vocab(section: dict[str, Any]) -> dict[str, int]:
    """Read a vocabulary of the form {token: id}."""
    vocab: dict[str, int] = member(section, "vocab", dict, "model")
    if vocab and (set(map(type, vocab.values())) != {int} or min(vocab.values()) < 0):
        for token, token_id in vocab.items():
            if type(token_id) is not int or token_id < 0:
                place = f"model.vocab[{token!r}]"
                raise LoadError(f"{place}: expected a whole number, got {shown(token_id)}")
    return vocab


def _by_id(size: int, entries: Iterable[tuple[int, bytes | None]]) -> list[bytes | None]:
    table: list[bytes | None] = [None] * size
    for token_id, entry in entries:
        table[token_id] = entry
    return table


def _decode_table(
    vocab: dict[str, int], spelled: list[bytes | None], written: Mapping[int, str]
) -> tuple[bytes | None, ...]:
    size = 1 + max([*vocab.values(), *written], default=-1)
    entries = (
        text.encode() if entry is None else entry
        for text, entry in zip(vocab, spelled, strict=True)
    )
    table = _by_id(size, zip(vocab.values(), entries, strict=True))
    for token_id, content in written.items():
        table[token_id] = decoded_bytes(content)
    return tuple(table)


def _read_merges(
    merges: list[Any], vocab: dict[str, int], tokens: list[bytes | None]
) -> NDArray[np.uint32]:
    if merges and type(merges[0]) is str and "#version" in merges[0]:
        merges = [line for line in merges if not line.startswith("#version")]
    try:
        flat = _merge_ids(merges, vocab)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _merge_error(merges, vocab) from None
    pairs = np.array(flat, dtype=np.uint32).reshape(-1, 2)
    # A merge of entries outside the alphabet can never happen.
    possible = np.array([token is not None for token in tokens], dtype=bool)
    return _last_of_each(pairs[possible[pairs].all(axis=1)])


def _merge_ids(merges: list[Any], vocab: dict[str, int]) -> list[int]:
    """Flatten ["a b", ...] or [["a", "b"], ...] to ids; what is wrong is found by failing."""
    flat: list[int] = []
    append = flat.append
    pairs = (line.split(" ") for line in merges) if merges and type(merges[0]) is str else merges
    for left, right in pairs:
        vocab[left + right]  # the merged token must exist
        append(vocab[left])
        append(vocab[right])
    return flat


def _last_of_each(pairs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Keep the last of equal pairs: the library keeps the rank it reads last."""
    keys = pairs[:, 0].astype(np.uint64) << np.uint64(32) | pairs[:, 1]
    unique, first_from_the_end = np.unique(keys[::-1], return_index=True)
    if len(unique) == len(keys):
        return pairs
    kept: NDArray[np.uint32] = pairs[np.sort(len(keys) - 1 - first_from_the_end)]
    return kept


def _merge_error(merges: list[Any], vocab: dict[str, int]) -> LoadError:
    """Find the merge that is wrong; only called when there is one."""
    for index, merge in enumerate(merges):
        place = f"model.merges[{index}]"
        parts = merge.split(" ") if type(merge) is str else merge
        if type(parts) is not list or [type(part) for part in parts] != [str, str]:
            return LoadError(f"{place}: expected two tokens, got {shown(merge)}")
        for token in (*parts, "".join(parts)):
            if token not in vocab:
                problem = f"expected tokens of the vocabulary, got {shown(token)}"
                return LoadError(f"{place}: {problem}")
    return LoadError('model.merges: expected either "a b" or ["a", "b"] throughout, got both')


def _dropout(section: dict[str, Any]) -> list[str]:
    rate = section.get("dropout")
    return [f"model.dropout is {rate!r}: encoding is random"] if rate else []


def _missing_bytes(section: dict[str, Any], tokens: list[bytes | None]) -> list[str]:
    """Say what becomes of a byte without a token, where that is not "it is dropped".

    With a token for every byte of UTF-8, unk_token, fuse_unk and byte_fallback have no effect.
    """
    if not section.get("unk_token") and not section.get("byte_fallback"):
        return []
    known = {token for token in tokens if token is not None and len(token) == 1}
    missing = [byte for byte in UTF8_BYTES if bytes([byte]) not in known]
    if not missing:
        return []
    return [f"{len(missing)} bytes have no token, the first is 0x{missing[0]:02x}"]

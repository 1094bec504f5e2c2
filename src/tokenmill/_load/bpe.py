"""The BPE "model" section of a tokenizer.json -> BpeModel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import LoadError
from tokenmill._load.byte_level import UTF8_BYTES, bytes_of_tokens, decoded_bytes
from tokenmill._load.fields import member, optional, shown
from tokenmill._load.vocabulary import (
    ReadModel,
    by_id,
    id_reasons,
    opaque,
    read_byte_ids,
    size_of,
    utf8_of_tokens,
    utf8_table,
)
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def read_byte_bpe(
    section: dict[str, Any], vocab: dict[str, int], written: Mapping[int, str]
) -> ReadModel:
    """Read a BPE model whose words are bytes in the byte-level alphabet.

    `written` is what decoding writes for the ids of added tokens.
    """
    suffix = bytes_of_tokens([optional(section, "end_of_word_suffix", "", "model")])[0]
    reasons = [*_prefix_reasons(section), *id_reasons(vocab)]
    if suffix is None:
        reasons.append("model.end_of_word_suffix is outside the byte-level alphabet")
    if reasons or suffix is None:
        return opaque(vocab, reasons)
    spelled = bytes_of_tokens(list(vocab))
    tokens = by_id(size_of(vocab), zip(vocab.values(), [s or None for s in spelled], strict=True))
    texts = (
        text.encode() if entry is None else entry
        for text, entry in zip(vocab, spelled, strict=True)
    )
    model = BpeModel(
        tokens=tuple(tokens),
        decode_bytes=_decode_table(
            vocab, list(texts), {i: decoded_bytes(text) for i, text in written.items()}
        ),
        merges=_read_merges(member(section, "merges", list, "model"), vocab, tokens),
        ranks=None,
        ignore_merges=optional(section, "ignore_merges", False, "model"),
        suffix=suffix,
    )
    return ReadModel(model, [*_dropout(section), *_missing_bytes(section, tokens, suffix)])


def read_character_bpe(
    section: dict[str, Any], vocab: dict[str, int], written: Mapping[int, str]
) -> ReadModel:
    """Read a BPE model that starts from the characters of a word."""
    reasons = [*_prefix_reasons(section), *id_reasons(vocab)]
    if reasons:
        return opaque(vocab, reasons)
    tokens = utf8_table(vocab)
    unk_id, reasons = _read_unknown(section, vocab)
    suffix = optional(section, "end_of_word_suffix", "", "model")
    byte_ids = None
    if optional(section, "byte_fallback", False, "model"):
        byte_ids, partly = read_byte_ids(vocab)
        reasons += partly
        if suffix:
            # The library would write the bytes of the suffix as well.
            reasons.append("byte_fallback with an end_of_word_suffix")
    model = BpeModel(
        tokens=tokens,
        decode_bytes=_decode_table(
            vocab, utf8_of_tokens(vocab), {i: text.encode() for i, text in written.items()}
        ),
        merges=_read_merges(member(section, "merges", list, "model"), vocab, tokens),
        ranks=None,
        ignore_merges=optional(section, "ignore_merges", False, "model"),
        symbols="characters",
        byte_ids=byte_ids,
        unk_id=unk_id,
        fuse_unk=optional(section, "fuse_unk", False, "model"),
        suffix=utf8_of_tokens([suffix])[0],
    )
    return ReadModel(model, [*_dropout(section), *reasons])


def _read_unknown(
    section: dict[str, Any], vocab: Mapping[str, int]
) -> tuple[int | None, list[str]]:
    """Return the id of the unknown token; one that does not exist makes the library fail."""
    if section.get("unk_token") is None:
        return None, []
    token = member(section, "unk_token", str, "model")
    if token in vocab:
        return vocab[token], []
    return None, [f"model.unk_token {token!r} is not in the vocabulary"]


def _decode_table(
    vocab: dict[str, int], entries: Sequence[bytes], written: Mapping[int, bytes]
) -> tuple[bytes | None, ...]:
    size = 1 + max([*vocab.values(), *written], default=-1)
    table = by_id(size, zip(vocab.values(), entries, strict=True))
    for token_id, content in written.items():
        table[token_id] = content
    return tuple(table)


def _read_merges(
    merges: list[Any], vocab: dict[str, int], tokens: Sequence[bytes | None]
) -> NDArray[np.uint32]:
    if merges and type(merges[0]) is str and "#version" in merges[0]:
        merges = [line for line in merges if not _is_version(line)]
    try:
        flat = _merge_ids(merges, vocab)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _merge_error(merges, vocab) from None
    pairs = np.array(flat, dtype=np.uint32).reshape(-1, 2)
    # A merge of entries outside the alphabet can never happen.
    possible = np.array([token is not None for token in tokens], dtype=bool)
    return _last_of_each(pairs[possible[pairs].all(axis=1)])


def _is_version(line: object) -> bool:
    return isinstance(line, str) and line.startswith("#version")


def _merge_ids(merges: list[Any], vocab: dict[str, int]) -> list[int]:
    """Flatten ["a b", ...] or [["a", "b"], ...] to ids; fails on a wrong entry."""
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


def _prefix_reasons(section: dict[str, Any]) -> list[str]:
    prefix = optional(section, "continuing_subword_prefix", "", "model")
    return [f"model.continuing_subword_prefix is {prefix!r}"] if prefix else []


def _dropout(section: dict[str, Any]) -> list[str]:
    rate = section.get("dropout")
    return [f"model.dropout is {rate!r}: encoding is random"] if rate else []


def _missing_bytes(section: dict[str, Any], tokens: list[bytes | None], suffix: bytes) -> list[str]:
    """Explain what happens to bytes without a token, unless they are dropped.

    With a token for every byte of UTF-8, unk_token, fuse_unk and byte_fallback have no effect.
    """
    if not section.get("unk_token") and not section.get("byte_fallback"):
        return []
    known = set(tokens)
    ends = {b"", suffix}
    missing = [byte for byte in UTF8_BYTES if not all(bytes([byte]) + end in known for end in ends)]
    if not missing:
        return []
    return [f"{len(missing)} bytes have no token, the first is 0x{missing[0]:02x}"]

"""TokenizerSpec <-> a few hundred kilobytes: the compressed form of a `.mill` file.

LZMA over a JSON head, which holds everything small, and blocks of numbers and bytes. What one
table says about another is not stored twice: decoded bytes only where they differ from the
token's, and a merge as the token that it makes and the length of its left half.
"""

from __future__ import annotations

import json
import lzma
import struct
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from tokenmill._errors import CorruptModel, UnsupportedTokenizer
from tokenmill._spec import (
    AddedToken,
    BpeModel,
    DecoderStep,
    NormalizerStep,
    SplitStep,
    TemplatePart,
    TokenizerSpec,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Table = Sequence[bytes | None]
    Blocks = dict[str, bytes]

_HEAD = struct.Struct("<I")
_PLAIN = (
    "name", "kind", "add_prefix_space", "prefix_ids", "suffix_ids", "trim_offsets", "reference",
    "notes",
)  # fmt: skip
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
# No vocabulary comes near; a forged file may not ask for all memory there is.
_MAX_BYTES = 1 << 30


def pack_spec(spec: TokenizerSpec) -> bytes:
    """Pack a tokenizer that the native engine can run."""
    if not isinstance(spec.model, BpeModel) or spec.unsupported or spec.unsupported_decode:
        raise UnsupportedTokenizer(
            "runs through its reference library, so there is nothing to ship",
            where=spec.name,
            reasons=(*spec.unsupported, *spec.unsupported_decode),
            hint="ship the file it was loaded from",
        )
    blocks = _model_blocks(spec.model)
    if spec.texts:
        texts = [None if text is None else text.encode() for text in spec.texts]
        blocks |= {"text_lengths": _lengths(texts), "texts": _joined(texts)}
    head = {name: getattr(spec, name) for name in _PLAIN}
    head |= {
        name: [asdict(step) for step in getattr(spec, name)]
        for name in ("added_tokens", "normalizer", "split", "single", "pair")
    }
    steps = spec.decoder
    head["decoder"] = None if steps is None else [asdict(step) for step in steps]
    head["ignore_merges"] = spec.model.ignore_merges
    head["blocks"] = [[name, len(block)] for name, block in blocks.items()]
    text = json.dumps(head, separators=(",", ":")).encode()
    return lzma.compress(
        b"".join([_HEAD.pack(len(text)), text, *blocks.values()]),
        format=lzma.FORMAT_XZ,
        check=lzma.CHECK_NONE,
        filters=_FILTERS,
    )


def unpack_spec(data: bytes, path: str) -> TokenizerSpec:
    """Undo `pack_spec`; `path` is where the data came from, for the error."""
    try:
        return _unpack(_decompress(data))
    except (
        lzma.LZMAError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        struct.error,
    ) as e:
        raise CorruptModel(
            f"the compressed tokenizer contradicts itself: {e}",
            path=path,
            hint="compile it again from the tokenizer it was made of",
        ) from e


def _decompress(data: bytes) -> bytes:
    decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
    result = decompressor.decompress(data, max_length=_MAX_BYTES)
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("the compressed data is too short or too long")
    return result


def _unpack(data: bytes) -> TokenizerSpec:
    (length,) = _HEAD.unpack_from(data)
    begin = _HEAD.size + length
    head = json.loads(data[_HEAD.size : begin])
    blocks: Blocks = {}
    for name, size in head["blocks"]:
        blocks[name] = data[begin : begin + size]
        begin += size
    if begin != len(data):
        raise ValueError(f"blocks end at {begin} of {len(data)} bytes")
    tokens = _table(blocks["lengths"], blocks["tokens"])
    model = BpeModel(
        tokens=tokens,
        decode_bytes=_unpack_decode(tokens, blocks),
        merges=_unpack_merges(tokens, blocks),
        ranks=_unpack_ranks(blocks),
        ignore_merges=head["ignore_merges"],
    )
    return TokenizerSpec(
        model=model,
        added_tokens=tuple(AddedToken(**item) for item in head["added_tokens"]),
        normalizer=tuple(NormalizerStep(**item) for item in head["normalizer"]),
        split=tuple(SplitStep(**item) for item in head["split"]),
        texts=_unpack_texts(blocks),
        decoder=_unpack_decoder(head["decoder"]),
        single=_parts(head["single"]),
        pair=_parts(head["pair"]),
        **{name: _frozen(head[name]) for name in _PLAIN},
    )


def _unpack_texts(blocks: Blocks) -> tuple[str | None, ...]:
    if "texts" not in blocks:
        return ()
    table = _table(blocks["text_lengths"], blocks["texts"])
    return tuple(None if entry is None else entry.decode() for entry in table)


def _unpack_decoder(steps: list[dict[str, Any]] | None) -> tuple[DecoderStep, ...] | None:
    return None if steps is None else tuple(DecoderStep(**step) for step in steps)


def _parts(items: list[dict[str, Any]]) -> tuple[TemplatePart, ...]:
    return tuple(TemplatePart(**{**item, "ids": tuple(item["ids"])}) for item in items)


def _frozen(value: Any) -> Any:  # whatever JSON holds
    return tuple(value) if isinstance(value, list) else value


def _model_blocks(model: BpeModel) -> Blocks:
    blocks = {"lengths": _lengths(model.tokens), "tokens": _joined(model.tokens)}
    blocks |= _pack_decode(model.tokens, model.decode_bytes)
    if model.merges is not None:
        blocks |= _pack_merges(model.tokens, model.merges)
    if model.ranks is not None:
        drift = model.ranks.astype(np.uint32)
        drift -= np.arange(len(drift), dtype=np.uint32)
        blocks["ranks"] = _planes(drift)
    return blocks


def _pack_decode(tokens: Table, decoded: Table) -> Blocks:
    """Keep the entries whose decoded bytes are not those of the token."""
    padded = [*tokens, *[None] * (len(decoded) - len(tokens))]
    other = [i for i, entry in enumerate(decoded) if entry != padded[i]]
    return {
        "decode_size": len(decoded).to_bytes(8, "little"),
        "decode_ids": np.array(other, dtype="<u4").tobytes(),
        "decode_lengths": _lengths([decoded[i] for i in other]),
        "decode_bytes": _joined([decoded[i] for i in other]),
    }


def _unpack_decode(tokens: Table, blocks: Blocks) -> tuple[bytes | None, ...]:
    size = int.from_bytes(blocks["decode_size"], "little")
    if not len(tokens) <= size <= _MAX_BYTES:
        raise ValueError(f"{size} decoded entries for {len(tokens)} tokens")
    decoded: list[bytes | None] = [*tokens, *[None] * (size - len(tokens))]
    other = np.frombuffer(blocks["decode_ids"], dtype="<u4").tolist()
    entries = _table(blocks["decode_lengths"], blocks["decode_bytes"])
    for i, entry in zip(other, entries, strict=True):
        decoded[i] = entry
    return tuple(decoded)


def _pack_merges(tokens: Table, merges: NDArray[np.uint32]) -> Blocks:
    """Store (made token - the one made before, length of the left half) where that is exact."""
    ids = {token: i for i, token in enumerate(tokens) if token is not None}
    pairs = merges.tolist()
    halves = [(tokens[left], tokens[right]) for left, right in pairs]
    try:
        made = np.array([ids[cast("bytes", a) + cast("bytes", b)] for a, b in halves], np.uint32)
        left = np.array([len(cast("bytes", a)) for a, _ in halves], dtype=np.uint32)
    except (KeyError, TypeError):  # a merge of or into something that is not a token
        return {"merge_pairs": _planes(merges.astype(np.uint32).reshape(-1))}
    blocks = {
        "merge_made": _planes(made - np.concatenate([made[:1] * 0, made[:-1]])),
        "merge_left": _planes(left),
    }
    if not np.array_equal(cast("Any", _unpack_merges(tokens, blocks)), merges):  # tokens with twins
        return {"merge_pairs": _planes(merges.astype(np.uint32).reshape(-1))}
    return blocks


def _unpack_merges(tokens: Table, blocks: Blocks) -> NDArray[np.uint32] | None:
    if "merge_pairs" in blocks:
        return _unplanes(blocks["merge_pairs"]).reshape(-1, 2)
    if "merge_made" not in blocks:
        return None
    ids = {token: i for i, token in enumerate(tokens) if token is not None}
    made = np.cumsum(_unplanes(blocks["merge_made"]), dtype=np.uint32).tolist()
    pairs = []
    for whole_id, length in zip(made, _unplanes(blocks["merge_left"]).tolist(), strict=True):
        whole = tokens[whole_id] or _no_token(whole_id)
        pairs.append((ids[whole[:length]], ids[whole[length:]]))
    return np.array(pairs, dtype=np.uint32).reshape(-1, 2)


def _unpack_ranks(blocks: Blocks) -> NDArray[np.uint32] | None:
    if "ranks" not in blocks:
        return None
    ranks = _unplanes(blocks["ranks"])
    ranks += np.arange(len(ranks), dtype=np.uint32)
    return ranks


def _planes(values: NDArray[np.uint32]) -> bytes:
    """Write all lowest bytes, then all second bytes, ...: runs that compress well."""
    return np.ascontiguousarray(values.astype("<u4").view(np.uint8).reshape(-1, 4).T).tobytes()


def _unplanes(block: bytes) -> NDArray[np.uint32]:
    planes = np.frombuffer(block, dtype=np.uint8).reshape(4, -1)
    return np.ascontiguousarray(planes.T).view("<u4").reshape(-1).astype(np.uint32)


def _lengths(table: Table) -> bytes:
    """Write lengths plus one; 0 is a hole."""
    return _planes(np.array([0 if e is None else len(e) + 1 for e in table], dtype=np.uint32))


def _joined(table: Table) -> bytes:
    return b"".join([entry for entry in table if entry is not None])


def _table(lengths: bytes, joined: bytes) -> tuple[bytes | None, ...]:
    result: list[bytes | None] = []
    begin = 0
    for length in _unplanes(lengths).tolist():
        end = begin + max(length - 1, 0)
        result.append(joined[begin:end] if length else None)
        begin = end
    if begin != len(joined):
        raise ValueError(f"lengths add up to {begin} of {len(joined)} bytes")
    return tuple(result)


def _no_token(token_id: int) -> NoReturn:
    raise ValueError(f"a merge makes {token_id}, which is a hole")

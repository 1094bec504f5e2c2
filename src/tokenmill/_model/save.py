"""A tokenizer -> a file: the one it came from, or a tokenizer.json made of its ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._compile.onig import as_onig
from tokenmill._compile.regex_ast import NotRegular
from tokenmill._errors import SourceNotFound, UnsupportedTokenizer
from tokenmill._load.byte_level import ALPHABET
from tokenmill._model.file import write_atomically
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tokenmill._model.resolve import Ready

_FILE = "tokenizer.json"


def save(ready: Ready, path: str | os.PathLike[str]) -> None:
    """Write the file; in a directory it is called tokenizer.json, or tokenizer.model."""
    is_sentencepiece = ready.meta["reference"] == "sentencepiece"
    target = Path(path)
    if target.is_dir():
        target /= "tokenizer.model" if is_sentencepiece else _FILE
    if is_sentencepiece and target.suffix == ".json":
        raise UnsupportedTokenizer(
            "a SentencePiece model has rules that no tokenizer.json can say",
            where=ready.meta["name"],
            hint="save it as a .model file",
        )
    if not target.parent.is_dir():
        raise SourceNotFound("no such directory", source=str(target.parent))
    if ready.meta["reference"] == "python":
        raise UnsupportedTokenizer(
            "a vocabulary of longest matches is no model of a tokenizer.json",
            where=ready.meta["name"],
            hint="copy the file that it was loaded from",
        )
    source = ready.source()
    write_atomically(target, [_from_ranks(ready) if source is None else source])


def derive_merges(tokens: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the merges that do what ranks do; `tokens` are in the order of their ranks.

    With ranks, any two neighbours merge whose bytes are a token. But what lies between the ends of
    a token merges as if it were alone, until one pair is left: no other pair ever makes the token,
    and its merges are that one pair for each token, in the order of the ranks.

        derive_merges([b"a", b"b", b"ab", b"abb"]) -> [(b"a", b"b"), (b"ab", b"b")]
    """
    ranks = {token: rank for rank, token in enumerate(tokens)}
    pairs = (_pair_of(token, ranks) for token in tokens if len(token) > 1)
    return [pair for pair in pairs if pair is not None]


def _pair_of(token: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    """Find the pair; where only one can be, whether it ever comes about does not matter."""
    cuts = [i for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
    if len(cuts) <= 1:
        return (token[: cuts[0]], token[cuts[0] :]) if cuts else None
    return _last_pair(token, ranks)


def _last_pair(token: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    """Merge a token's bytes down to two parts; None if they do not get there."""
    parts = [token[i : i + 1] for i in range(len(token))]
    none = len(ranks)
    scores = [ranks.get(token[i : i + 2], none) for i in range(len(token) - 1)]
    while len(parts) > 2:  # noqa: PLR2004
        best = min(scores)
        if best == none:
            return None
        at = scores.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del scores[at]
        for neighbour in (at - 1, at):
            if 0 <= neighbour < len(scores):
                scores[neighbour] = ranks.get(parts[neighbour] + parts[neighbour + 1], none)
    return parts[0], parts[1]


def _from_ranks(ready: Ready) -> bytes:
    meta = ready.meta
    if meta["ranks"] is None:
        raise UnsupportedTokenizer(
            "its tokenizer.json was not kept, and it has no ranks to make one of",
            where=meta["name"],
            hint="save the tokenizer that it was compiled from",
        )
    special: dict[str, int] = meta["special_tokens"]
    tokens = _tokens_of(ready, frozenset(special.values()))
    vocab = {_spelled(token): token_id for token_id, token in tokens.items()}
    ordered = list(tokens.values())
    if list(special.values()) != list(range(len(vocab), len(vocab) + len(special))):
        vocab = _with_special(vocab, special, meta["name"])
    data = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(content, token_id) for content, token_id in special.items()],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _splitting(meta)},
        "post_processor": None,
        "decoder": _byte_level(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": vocab,
            "merges": [f"{_spelled(a)} {_spelled(b)}" for a, b in derive_merges(ordered)],
        },
    }
    return json.dumps(data, ensure_ascii=False, indent=1).encode()


def _tokens_of(ready: Ready, special: frozenset[int]) -> dict[int, bytes]:
    """Return the ranked tokens by id, which is the order of their ranks."""
    rows: Sequence[bytes | None]
    if ready.spec is not None and isinstance(ready.spec.model, BpeModel):
        rows = ready.spec.model.tokens
    else:
        numbers = np.arange(int(ready.model.vocab_size) + 1, dtype=np.int64)
        rows = ready.model.decode_batch(numbers[:-1].astype(np.uint32), numbers)
    return {i: row for i, row in enumerate(rows) if row and i not in special}


def _with_special(vocab: dict[str, int], special: Mapping[str, int], name: str) -> dict[str, int]:
    """Put special tokens into the vocabulary: the library numbers the others by itself."""
    for content in special:
        if content in vocab:
            raise UnsupportedTokenizer(
                f"a tokenizer.json cannot tell the special token {content!r} from a plain one",
                where=name,
                reasons=("a special token is spelled like a token",),
            )
    return dict(sorted({**vocab, **special}.items(), key=lambda item: item[1]))


def _splitting(meta: Mapping[str, Any]) -> list[dict[str, Any]]:
    ranks = meta["ranks"]
    try:
        pattern = as_onig(ranks["pattern"], ranks["dialect"])
    except NotRegular as error:
        raise UnsupportedTokenizer(
            f"the split pattern cannot be written for 'tokenizers': {error.reason}",
            where=meta["name"],
            reasons=(error.reason,),
        ) from error
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}
    return [split, _byte_level()]


def _byte_level() -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }


def _added(content: str, token_id: int) -> dict[str, Any]:
    return {
        "id": token_id,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _spelled(token: bytes) -> str:
    return "".join([ALPHABET[byte] for byte in token])

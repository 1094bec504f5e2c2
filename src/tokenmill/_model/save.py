"""A tokenizer -> a file: the one it came from, or a tokenizer.json that is made for it."""

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
from tokenmill._model.merges import derive_merges
from tokenmill._model.save_sentencepiece import sentencepiece_as_json
from tokenmill._spec import BpeModel

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tokenmill._model.ready import Ready

_FILE = "tokenizer.json"


def save(ready: Ready, path: str | os.PathLike[str]) -> None:
    """Write the file; in a directory it is called tokenizer.json, or tokenizer.model."""
    is_sentencepiece = ready.meta["reference"] == "sentencepiece"
    target = Path(path)
    if target.is_dir():
        target /= "tokenizer.model" if is_sentencepiece else _FILE
    if not target.parent.is_dir():
        raise SourceNotFound("no such directory", source=str(target.parent))
    if ready.meta["reference"] == "python":
        raise UnsupportedTokenizer(
            "a tokenizer.json has no model for a vocabulary of longest matches",
            where=ready.meta["name"],
            hint="copy the file that it was loaded from",
        )
    source = ready.source()
    if source is None:
        source = _from_ranks(ready)
    elif is_sentencepiece and target.suffix == ".json":
        around = ready.templates
        source = sentencepiece_as_json(source, ready.meta["name"], around.single, around.pair)
    write_atomically(target, [source])


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

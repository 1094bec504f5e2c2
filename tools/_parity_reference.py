"""Reference ids of one tokenizer and one corpus, computed in a separate process.

`tokenizers` answers for tokenizer.json, `tiktoken` for rank files and tekken.json, `sentencepiece`
for its own models. For one document of 28 MB, `tokenizers` needs several GB, which are freed when
this process ends.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tiktoken
from _parity_files import ids_path, is_sentencepiece, offsets_path
from _patterns import pattern_of
from _texts import read_documents, read_text
from sentencepiece import SentencePieceProcessor
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    Encode = Callable[[list[str]], list[Any]]

# Encodings hold far more than ids: turn them into arrays before there are many.
BATCH = 1000


def main() -> None:
    """Answer the request on stdin by writing two arrays for each mode that lacks them."""
    request = json.load(sys.stdin)
    corpus, limit, stem = Path(request["corpus"]), request["limit_bytes"], Path(request["stem"])
    encode = load(Path(request["tokenizer"]))
    for mode in request["modes"]:
        if offsets_path(stem, mode).exists():
            continue
        documents = (
            read_documents(corpus, limit) if mode == "documents" else [read_text(corpus, limit)]
        )
        write(stem, mode, *encode_all(encode, documents))


def load(path: Path) -> Encode:
    """Return the reference for a tokenizer file as a function: texts -> ids of each."""
    if path.name == "tokenizer.json":
        return load_tokenizer_json(path)
    if path.name == "tekken.json":
        return load_tekken(path)
    if is_sentencepiece(path):
        processor = SentencePieceProcessor(model_file=str(path))
        return lambda texts: list(processor.encode(texts))
    encoding = tiktoken.Encoding(
        name=path.stem,
        pat_str=pattern_of(path),
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens={},
    )
    return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=2)


def load_tokenizer_json(path: Path) -> Encode:
    """Return `tokenizers` without special tokens, truncation and padding."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(texts: list[str]) -> list[Any]:
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    return encode


def load_tekken(path: Path) -> Encode:
    """Return `tiktoken` over a tekken vocabulary, whose ids start after its special tokens."""
    data = json.loads(path.read_text())
    config = data["config"]
    shift = int(config["default_num_special_tokens"])
    size = int(config["default_vocab_size"]) - shift
    ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in data["vocab"][:size]}
    encoding = tiktoken.Encoding(
        name="tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={}
    )

    def encode(texts: list[str]) -> list[Any]:
        rows = encoding.encode_ordinary_batch(texts, num_threads=2)
        return [np.asarray(row, dtype=np.uint32) + np.uint32(shift) for row in rows]

    return encode


def encode_all(encode: Encode, documents: list[bytes]) -> tuple[Any, Any]:
    """Return the ids of all documents in one array, and the offsets of each."""
    rows: list[np.ndarray[Any, Any]] = []
    for begin in range(0, len(documents), BATCH):
        texts = [document.decode() for document in documents[begin : begin + BATCH]]
        rows += [np.asarray(ids, dtype=np.uint32) for ids in encode(texts)]
    lengths = [0, *(len(row) for row in rows)]
    ids = np.concatenate(rows) if rows else np.empty(0, dtype=np.uint32)
    return ids, np.cumsum(lengths, dtype=np.int64)


def write(stem: Path, mode: str, ids: Any, offsets: Any) -> None:
    """Write both arrays; the offsets last, so that their presence means that both are complete."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    for path, array in ((ids_path(stem, mode), ids), (offsets_path(stem, mode), offsets)):
        half = path.with_suffix(".half.npy")
        np.save(half, array)
        half.replace(path)


if __name__ == "__main__":
    main()

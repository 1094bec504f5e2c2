"""tokenmill's ids of one tokenizer and one corpus, compared with the reference ids.

This is a separate process, because TOKENMILL_TARGET is read once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _parity_files import ids_path, is_sentencepiece, offsets_path
from _patterns import pattern_of
from _texts import read_documents, read_text

import tokenmill

CONTEXT = 24
SHOWN_IDS = 6


def main() -> None:
    """Answer the request on stdin with one line of JSON for each mode and thread count."""
    request = json.load(sys.stdin)
    corpus, limit, stem = Path(request["corpus"]), request["limit_bytes"], Path(request["stem"])
    tokenizer = load(Path(request["tokenizer"]))
    path = str(tokenizer.describe().path)
    for mode in request["modes"]:
        documents = (
            read_documents(corpus, limit) if mode == "documents" else [read_text(corpus, limit)]
        )
        ids = np.load(ids_path(stem, mode))
        offsets = np.load(offsets_path(stem, mode))
        for threads in request["threads"]:
            batch = tokenizer.encode_batch(documents, threads=threads)
            wrong = mismatches(ids, offsets, batch)
            facts: dict[str, Any] = {"mode": mode, "threads": threads, "path": path}
            facts.update(
                size_bytes=sum(map(len, documents)), documents=len(documents), mismatches=len(wrong)
            )
            if wrong:
                facts["first"] = explain(tokenizer, documents, (ids, offsets), batch, wrong[0])
            sys.stdout.write(json.dumps(facts) + "\n")


def load(path: Path) -> tokenmill.Tokenizer:
    """Load the file; rank files need their pattern."""
    if path.suffix == ".json" or is_sentencepiece(path):
        return tokenmill.Tokenizer.load(path)
    return tokenmill.Tokenizer.load(path, pattern=pattern_of(path))


def mismatches(ids: Any, offsets: Any, batch: tokenmill.TokenBatch) -> list[int]:
    """Return the documents whose ids differ."""
    if np.array_equal(offsets, batch.offsets) and np.array_equal(ids, batch.ids):
        return []
    if len(offsets) != len(batch.offsets):
        return list(range(len(offsets) - 1))
    ours, theirs = batch.offsets, offsets
    return [
        n
        for n in range(len(offsets) - 1)
        if not np.array_equal(
            ids[theirs[n] : theirs[n + 1]], batch.ids[ours[n] : ours[n + 1]]
        )
    ]  # fmt: skip


def explain(
    tokenizer: tokenmill.Tokenizer,
    documents: list[bytes],
    reference: tuple[Any, Any],
    batch: tokenmill.TokenBatch,
    number: int,
) -> str:
    """Describe the first difference: where it is, and the ids there."""
    ids, offsets = reference
    right = ids[offsets[number] : offsets[number + 1]]
    ours = batch.ids[batch.offsets[number] : batch.offsets[number + 1]]
    shared = min(len(right), len(ours))
    differ = np.flatnonzero(right[:shared] != ours[:shared])
    at = int(differ[0]) if len(differ) else shared
    place = len(tokenizer.decode_bytes(right[:at]))
    text = documents[number][max(0, place - CONTEXT) : place + CONTEXT]
    wanted, got = right[at : at + SHOWN_IDS].tolist(), ours[at : at + SHOWN_IDS].tolist()
    return f"document {number}, byte {place}, {text!r}: expected {wanted}, got {got}"


if __name__ == "__main__":
    main()

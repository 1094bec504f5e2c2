"""Which ids of the vocabulary an output uses, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._errors import UnknownId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokenmill._tokenizer import Tokenizer

_TOP = 40
_RARE = 100
_COVERED = (0.5, 0.9, 0.99, 0.999)


def token_lengths(tokenizer: Tokenizer, size: int) -> NDArray[np.int64]:
    """Return how many bytes of text each id stands for: 0 for special tokens and unknown ids."""
    lengths = np.zeros(size, np.int64)
    special = set(tokenizer.special_tokens.values())
    for token_id in range(min(size, tokenizer.vocab_size)):
        if token_id not in special:
            lengths[token_id] = len(bytes_of(tokenizer, token_id))
    return lengths


def bytes_of(tokenizer: Tokenizer, token_id: int) -> bytes:
    """Return the bytes of an id; none if the vocabulary has no such id."""
    try:
        return tokenizer.token_bytes(token_id)
    except UnknownId:
        return b""


def vocabulary_facts(tokenizer: Tokenizer, counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return how much of the vocabulary is used, and the most frequent tokens."""
    size, total = tokenizer.vocab_size, int(counts.sum())
    used = int((counts > 0).sum())
    order = np.argsort(counts, kind="stable")[::-1]
    reached = np.cumsum(counts[order])
    special = {token_id: text for text, token_id in tokenizer.special_tokens.items()}
    return {
        "size": size,
        "used": used,
        "unused": size - used,
        "unused_share": (size - used) / size if size else 0.0,
        "rare": int(((counts > 0) & (counts < _RARE)).sum()),
        "rare_below": _RARE,
        "covering": {
            f"{share:g}": int(np.searchsorted(reached, share * total)) + 1 if total else 0
            for share in _COVERED
        },
        "top": [
            {
                "id": token_id,
                "text": special.get(token_id)
                or bytes_of(tokenizer, token_id).decode("utf-8", "backslashreplace"),
                "count": int(counts[token_id]),
                "share": int(counts[token_id]) / total,
            }
            for token_id in order[:_TOP].tolist()
            if counts[token_id]
        ],
    }

"""The text that a new device must encode like the CPU engine before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZE = 64 << 10  # bytes
_DOCUMENTS = 600  # many: the CPU encodes documents that hold e.g. an added token
# What split rules look at: word ends, blanks, line ends, digits, cases, marks.
_EDGES = (
    " ", "  ", "\n", "\r\n", "\n\n ", "\t", "'s", "'LL", " don't", "123", "1234567", " 42,", ".",
    "...", "!?/", "/\n", "camelCase", "HTTPServer", "\u00e9t\u00e9", "\u4e2d\u6587\u5b57", "\u0661",
    "\u3000", "\u00a0x", "\uac00\ub098", "\U0001f600\ufe0f", "\u0e01\u0e33", "_a", "\u017f", "--",
)  # fmt: skip


def sample_texts(facts: Mapping[str, Any]) -> list[str]:
    """Return documents made of the vocabulary's tokens and of `_EDGES`."""
    random = np.random.default_rng(6)
    data, offsets = facts["token_bytes"].tobytes(), facts["token_offsets"].astype(np.int64)
    size, pieces = 0, []
    while size < SIZE:
        if random.random() < 0.5 or len(offsets) <= 1:  # noqa: PLR2004
            piece = _EDGES[random.integers(len(_EDGES))]
        else:
            token = random.integers(len(offsets) - 1)
            piece = data[offsets[token] : offsets[token + 1]].decode(errors="replace")
        pieces.append(piece)
        size += len(piece.encode())
    cuts = np.sort(random.integers(0, len(pieces) + 1, _DOCUMENTS - 1)).tolist()
    ends = [*cuts, len(pieces)]
    return ["".join(pieces[begin:end]) for begin, end in zip([0, *cuts], ends, strict=True)]

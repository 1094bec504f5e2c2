"""A number that changes with the rows of an object in memory, like the time of a file."""

from __future__ import annotations

from typing import Any

import xxhash


def fingerprint(data: Any) -> int:  # anything with rows
    """Hash the rows of a list or an Arrow table, or use a dataset's own fingerprint; else 0.

    Other objects may create rows on demand, and some can be read only once.
    """
    digest = xxhash.xxh3_64()
    own = getattr(data, "_fingerprint", None)
    if isinstance(own, str):
        digest.update(own.encode())
    elif hasattr(data, "to_batches"):
        for batch in data.to_batches():
            digest.update(batch.serialize())
    elif isinstance(data, (list, tuple)):
        for row in data:
            body = _row_bytes(row)
            digest.update(len(body).to_bytes(8, "little"))
            digest.update(body)
    else:
        return 0
    return int(digest.intdigest()) >> 1  # fits where a time in nanoseconds does


def _row_bytes(row: Any) -> bytes:
    if isinstance(row, bytes):
        return b"b" + row
    text = "s" + row if isinstance(row, str) else "r" + repr(row)
    return text.encode("utf-8", "surrogatepass")

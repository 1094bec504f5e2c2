"""The first tokens of long texts: encoding stops when truncation needs no more of them.

A long text is cut where its front has the ids that it has in the whole text (core/pipeline/prefix).
Fronts that have too few tokens are encoded again, with more text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenmill._post.layout import Encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tokenmill._post.request import Wanted
    from tokenmill._post.templates import Templates

_RAISE_MODE = 2
_STRICT = 0
_SHORTEST = 1 << 14  # characters or bytes; a shorter text is encoded at once
_PER_TOKEN = 8  # how much text is tried for each token, at first
_GROWTH = 8
_ACROSS = re.compile(r"[A-Za-z][\s\u2581]")  # an added token like that could lie across a cut


def may_stop(added_tokens: Iterable[str]) -> bool:
    """Whether no added token can lie across a cut."""
    return not any(map(_ACROSS.search, added_tokens))


def tokens_needed(
    wanted: Wanted, templates: Templates, *, is_pair: bool, add_special_tokens: bool
) -> int | None:
    """Return how many tokens decide about a row; None if all of them do.

    One more than fits, which tells a text that is cut from one that is not. What is kept of a pair
    depends on the lengths of both.
    """
    cut = wanted.truncation
    if cut is None or cut.is_left or wanted.overflowing or is_pair:
        return None
    n_added = templates.n_added(is_pair=False) if add_special_tokens else 0
    return max(cut.max_length - n_added, 0) + 1


def encode_enough(model: Any, texts: Any, need: int, **options: Any) -> Encoded:
    """Encode texts without spans; of a long text, at least the first `need` tokens.

    Errors are those of the whole text: what is not UTF-8 raises wherever it is, and texts in which
    special tokens raise are encoded to the end. `options` are those of the core's `encode_batch`.
    """
    if options["special_mode"] == _RAISE_MODE or not is_long(texts, need):
        return Encoded(*model.encode_batch(texts, **options))
    strict = options["errors"] == _STRICT
    sizes = [need * _PER_TOKEN] * len(texts)
    rows: list[NDArray[Any] | None] = [None] * len(texts)
    open_rows = list(range(len(texts)))
    while open_rows:
        fronts = [_front(model, texts[i], sizes[i], strict=strict) for i in open_rows]
        ids, offsets = model.encode_batch(fronts, **options)
        missing = []
        for n, i in enumerate(open_rows):
            row = ids[offsets[n] : offsets[n + 1]]
            if len(row) >= need or len(fronts[n]) == len(texts[i]):
                rows[i] = row
            else:
                sizes[i] *= _GROWTH
                missing.append(i)
        open_rows = missing
    return _joined(rows)


def may_be_long(texts: Sequence[str]) -> bool:
    """Whether one of the texts could be worth cutting; a quick check."""
    return max(map(len, texts), default=0) > _SHORTEST


def is_long(texts: Any, need: int) -> bool:
    """Whether one of the texts is so long that it is worth cutting; all must be str or bytes."""
    if not isinstance(texts, (list, tuple)) or not all(type(t) in (str, bytes) for t in texts):
        return False
    return max(map(len, texts), default=0) > _worth(need * _PER_TOKEN)


def _worth(size: int) -> int:
    """Return how long a text must be at least, if `size` of it is tried first."""
    return max(_GROWTH * size, _SHORTEST)


def _front(model: Any, text: str | bytes, size: int, *, strict: bool) -> str | bytes:
    """Return the text up to a place after `size` where it may be cut, or all of it."""
    if len(text) <= _worth(size):
        return text
    end: int = model.prefix_end(text, size)
    if end == len(text) or (strict and not model.is_well_formed(text)):
        return text
    return text[:end]


def _joined(rows: Sequence[NDArray[Any] | None]) -> Encoded:
    found = [row for row in rows if row is not None]
    offsets = np.zeros(len(found) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in found], out=offsets[1:])
    return Encoded(found[0] if len(found) == 1 else np.concatenate(found), offsets)

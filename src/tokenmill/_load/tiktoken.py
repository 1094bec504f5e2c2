"""Rank files and encodings of tiktoken -> TokenizerSpec."""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokenmill._errors import Hint, LoadError, Option, PatternError
from tokenmill._load.byte_level import UTF8_BYTES
from tokenmill._load.fields import shown
from tokenmill._load.known import KNOWN
from tokenmill._spec import NO_RANK, AddedToken, BpeModel, SplitStep, TokenizerSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST_ID = 1 << 24
_NAME_LIKE = re.compile(r"[\w.-]*[A-Za-z\d][\w.-]*", re.ASCII)


def is_rank_file(text: bytes) -> bool:
    """Tell whether the first line looks like `base64 rank`."""
    parts = text[:4096].split(b"\n", 1)[0].split()
    try:
        return len(parts) == 2 and parts[1].isdigit() and bool(_base64(parts[0]))  # noqa: PLR2004
    except binascii.Error:
        return False


def read_rank_file(
    text: bytes, name: str, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> TokenizerSpec:
    """Read `base64(token) rank` lines; `pattern` is a name of `KNOWN` or a regular expression."""
    if pattern is None:
        problem = "expected a split pattern, which rank files do not hold, got none"
        raise LoadError(problem, hint=_hint())
    known = KNOWN.get(pattern)
    if known is None and _NAME_LIKE.fullmatch(pattern):
        raise _unknown_name(pattern)
    ranks = _read_ranks(text)
    if special_tokens is None:
        # A file with a different number of ranks is a different vocabulary with the same pattern.
        fits = known is not None and known.n_ranks == len(ranks)
        special_tokens = known.special_tokens if known is not None and fits else {}
    regex = pattern if known is None else known.pattern
    return spec_from_ranks(name, regex, ranks, special_tokens)


def spec_from_ranks(
    name: str,
    pattern: str,
    ranks: Mapping[bytes, int],
    special_tokens: Mapping[str, int],
    first_id: int = 0,
) -> TokenizerSpec:
    """Build the spec of a rank table; the id of a token is its rank plus `first_id`."""
    _check_ids(ranks, special_tokens, first_id)
    size = first_id + 1 + max(ranks.values(), default=-1)
    tokens: list[bytes | None] = [None] * size
    for token, rank in ranks.items():
        tokens[first_id + rank] = token
    priority = np.full(size, NO_RANK, dtype=np.uint32)
    filled = np.fromiter(ranks.values(), dtype=np.int64, count=len(ranks))
    priority[filled + first_id] = filled
    added = sorted(special_tokens.items(), key=lambda item: item[1])
    model = BpeModel(
        tokens=tuple(tokens),
        decode_bytes=_decode_table(tokens, special_tokens),
        merges=None,
        ranks=priority,
        ignore_merges=True,
    )
    return TokenizerSpec(
        name=name,
        kind="bpe",
        model=model,
        added_tokens=tuple(AddedToken(text, token_id, special=True) for text, token_id in added),
        split=(SplitStep(pattern, "fancy", "removed", invert=True),),
        reference="tiktoken",
        unsupported=(*_missing_bytes(ranks), *_ambiguous(special_tokens)),
        unsupported_decode=_shared_ids(special_tokens),
    )


def _hint() -> str:
    template = f"pass {{}} one of {_names()}, or a regular expression"
    return Hint(template, Option("pattern"))


def _names() -> str:
    return ", ".join(sorted(KNOWN))


def _unknown_name(name: str) -> PatternError:
    """Refuse a misspelt name: as a regular expression it would drop nearly all text."""
    return PatternError(
        f"expected a known name or a regular expression, got {name!r}",
        pattern=name,
        hint=f"the names are {_names()}; as a regular expression write (?:{name})",
    )


def _read_ranks(text: bytes) -> dict[bytes, int]:
    lines = text.splitlines()
    try:
        pairs = [line.split() for line in lines if line]
        ranks = {_base64(token): int(rank) for token, rank in pairs}
    except ValueError:
        raise _line_error(lines) from None
    if len(ranks) != len(pairs) or len(set(ranks.values())) != len(pairs):
        raise _twice_error(lines)
    return ranks


def _base64(token: bytes) -> bytes:
    return base64.b64decode(token, validate=True)


def _line_error(lines: list[bytes]) -> LoadError:
    """Find the line that is wrong; only called when there is one."""
    for number, line in enumerate(lines, start=1):
        try:
            if line:
                token, rank = line.split()
                _base64(token)
                int(rank)
        except ValueError:
            hint = "the file is damaged or incomplete, fetch it again"
            return LoadError(f"expected `base64 rank`, got {shown(line)}", line=number, hint=hint)
    return LoadError("expected lines of `base64 rank`, got something else")


def _twice_error(lines: list[bytes]) -> LoadError:
    seen_tokens: set[bytes] = set()
    seen_ranks: set[int] = set()
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        token, rank = line.split()
        if token in seen_tokens or int(rank) in seen_ranks:
            problem = f"expected every token and every rank once, got {shown(line)} again"
            return LoadError(problem, line=number)
        seen_tokens.add(token)
        seen_ranks.add(int(rank))
    return LoadError("expected every token and every rank once, got one of them twice")


def _check_ids(
    ranks: Mapping[bytes, int], special_tokens: Mapping[str, int], first_id: int
) -> None:
    ids = {first_id + rank for rank in ranks.values()}
    for token_id in (min(ids, default=0), max(ids, default=0)):
        if not 0 <= token_id < _LARGEST_ID:
            raise LoadError(f"expected ranks from 0 to {_LARGEST_ID - 1}, got {token_id}")
    for text, token_id in special_tokens.items():
        if not text or not 0 <= token_id < _LARGEST_ID or token_id in ids:
            problem = f"expected a text with an id of its own, got {text!r}: {token_id}"
            raise LoadError(f"special_tokens: {problem}")


def _decode_table(
    tokens: list[bytes | None], special_tokens: Mapping[str, int]
) -> tuple[bytes | None, ...]:
    size = max([len(tokens), *(token_id + 1 for token_id in special_tokens.values())])
    table = [*tokens, *([None] * (size - len(tokens)))]
    for text, token_id in special_tokens.items():
        table[token_id] = text.encode()
    return tuple(table)


def _missing_bytes(ranks: Mapping[bytes, int]) -> list[str]:
    missing = [byte for byte in UTF8_BYTES if bytes([byte]) not in ranks]
    if not missing:
        return []
    return [f"{len(missing)} bytes have no token, the first is 0x{missing[0]:02x}"]


def _ambiguous(special_tokens: Mapping[str, int]) -> list[str]:
    """Report special tokens that are prefixes of others: tiktoken's order is undefined."""
    texts = sorted(special_tokens)
    for shorter, longer in pairwise(texts):
        if longer.startswith(shorter):
            return [f"special token {shorter!r} is the beginning of {longer!r}"]
    return []


def _shared_ids(special_tokens: Mapping[str, int]) -> tuple[str, ...]:
    """Report ids with two names: which of them tiktoken writes depends on its hash function."""
    seen: dict[int, str] = {}
    for text, token_id in special_tokens.items():
        other = seen.setdefault(token_id, text)
        if other != text:
            return (f"special tokens {other!r} and {text!r} share the id {token_id}",)
    return ()

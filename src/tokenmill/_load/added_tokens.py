"""The "added_tokens" section of a tokenizer.json -> AddedToken, with the ids the library uses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tokenmill._load.fields import expect, member
from tokenmill._spec import AddedToken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenmill._spec import NormalizerStep

_WHITE_SPACE = "\t\n\v\f\r "
# Patterns that mean the same in Python for ASCII text; the first is CLIP's.
_RUNS = {r"\s+": re.compile(r"\s+", re.ASCII), r"\s": re.compile(r"\s", re.ASCII)}
_ASCII_STAYS = {
    "nfc", "nfd", "nfkc", "nfkd", "strip_accents", "strip_nonspacing", "space_ideographs",
}  # fmt: skip
_PRINTABLE_STAYS = {"clean", "nmt"}


def read_added_tokens(
    section: object, vocab: Mapping[str, int], n_entries: int
) -> tuple[tuple[AddedToken, ...], list[str]]:
    """Return the tokens by id, and notes about wrong ids in the file.

    The library ignores the ids in the file: a token of the model's vocabulary keeps its
    id there, any other gets the next number, counted from `n_entries`, the number of entries of the
    vocabulary (not from its largest id). When two tokens share a content or an id, the later one
    wins, but a content that was special once stays special.
    """
    ids: dict[str, int] = {}
    tokens: dict[int, AddedToken] = {}
    special: set[str] = set()
    notes: list[str] = []
    next_id = n_entries
    for index, item in enumerate([] if section is None else expect(section, list, "added_tokens")):
        token = _read(item, f"added_tokens[{index}]")
        if not token.content:
            continue
        if token.content not in ids:
            ids[token.content] = vocab.get(token.content, next_id)
            next_id += token.content not in vocab
        if token.special:
            special.add(token.content)
        token_id = ids[token.content]
        if token_id != token.id:
            notes.append(
                f"added token {token.content!r} has id {token.id} in the file, "
                f"but the library uses {token_id}"
            )
        tokens[token_id] = replace(token, id=token_id, special=token.content in special)
    return tuple(tokens[token_id] for token_id in sorted(tokens)), notes


def written_contents(
    tokens: Sequence[AddedToken], normalizer: Sequence[NormalizerStep]
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return what decoding writes for each added token, and reasons where that is unknown.

    The library writes the normalized content of a token that is looked for in normalized text.
    """
    written: dict[int, str] = {}
    reasons: list[str] = []
    for token in tokens:
        content = _normalized(token.content, normalizer) if token.normalized else token.content
        if content is None:
            reasons.append(f"added token {token.content!r} is decoded in its normalized form")
        written[token.id] = token.content if content is None else content
    return written, tuple(reasons)


def _normalized(content: str, normalizer: Sequence[NormalizerStep]) -> str | None:
    """Normalize ASCII text; None if this needs the tables of Unicode."""
    for step in normalizer:
        if step.kind == "replace":
            content = content.replace(step.a, step.b)
        elif step.kind == "prepend":
            content = step.a + content if content else content
        elif not content.isascii():
            return None
        elif step.kind == "lowercase":
            content = content.lower()
        elif step.kind == "replace_regex" and step.a in _RUNS:
            content = step.b.join(_RUNS[step.a].split(content))
        elif step.kind == "strip":
            content = content.lstrip(_WHITE_SPACE) if step.left else content
            content = content.rstrip(_WHITE_SPACE) if step.right else content
        elif step.kind not in _ASCII_STAYS and not (
            step.kind in _PRINTABLE_STAYS and content.isprintable()
        ):
            return None
    return content


def _read(item: object, where: str) -> AddedToken:
    fields = expect(item, dict, where)
    return AddedToken(
        content=member(fields, "content", str, where),
        id=member(fields, "id", int, where),
        special=member(fields, "special", bool, where),
        normalized=member(fields, "normalized", bool, where),
        lstrip=member(fields, "lstrip", bool, where),
        rstrip=member(fields, "rstrip", bool, where),
        single_word=member(fields, "single_word", bool, where),
    )

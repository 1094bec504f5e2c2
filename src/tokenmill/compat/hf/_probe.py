"""Options that the library itself holds, and the special tokens of its post-processor.

A probe is a tiny tokenizer of the library with the post-processor and the options of a real one,
so the library checks the options of truncation and padding.
"""

from __future__ import annotations

import json
from typing import Any

from tokenmill._post import Padding, Truncation
from tokenmill.compat.hf._library import library

_LETTERS = {"a": 0, "b": 1}


def probe_of_json(definition: dict[str, Any]) -> Any:
    """Make the probe of a tokenizer.json, with its options of truncation and padding."""
    kept = {key: definition.get(key) for key in ("truncation", "padding", "post_processor")}
    model = {"type": "WordLevel", "vocab": _LETTERS, "unk_token": "a"}
    small: dict[str, Any] = {"version": "1.0", "added_tokens": [], **kept, "model": model}
    return library("tokenizers").Tokenizer.from_str(json.dumps(small))


def probe_of_peer(peer: Any) -> Any:
    """Make the probe of a loaded tokenizer; the post-processor is shared, not copied."""
    tokenizers = library("tokenizers")
    probe = tokenizers.Tokenizer(tokenizers.models.WordLevel(_LETTERS, unk_token="a"))  # noqa: S106
    probe.post_processor = peer.post_processor
    copy_options(peer, probe)
    return probe


def copy_options(source: Any, target: Any) -> None:
    """Give one tokenizer the truncation and the padding of another."""
    truncation, padding = source.truncation, source.padding
    if truncation != target.truncation:
        target.no_truncation() if truncation is None else target.enable_truncation(**truncation)
    if padding != target.padding:
        target.no_padding() if padding is None else target.enable_padding(**padding)


def special_texts(probe: Any, *, pair: bool) -> list[str]:
    """Return the special tokens around texts as strings, in the order of the row."""
    plain = library("tokenizers").Tokenizer(probe.model)
    if probe.post_processor is not None:
        plain.post_processor = probe.post_processor
    found = plain.encode("a", "b" if pair else None)
    tokens = zip(found.tokens, found.sequence_ids, strict=True)
    return [token for token, sequence in tokens if sequence is None]


def truncation_of(options: dict[str, Any] | None) -> Truncation | None:
    """Translate the library's options of truncation."""
    if options is None:
        return None
    is_left = options["direction"] == "left"
    return Truncation(options["strategy"], options["max_length"], is_left, options["stride"])


def padding_of(options: dict[str, Any] | None) -> Padding | None:
    """Translate the library's options of padding."""
    if options is None:
        return None
    return Padding(
        options["length"],
        options["pad_to_multiple_of"] or 1,
        options["direction"] == "left",
        options["pad_id"],
        options["pad_type_id"],
    )

"""What a post-processor puts around texts, found by asking it.

A template is learnt from a probe: a tokenizer of one-letter texts with the post-processor in
question. So every post-processor counts as the library itself understands it, and options of
truncation and padding are checked, and kept, by the library itself.
"""

# ruff: noqa: ANN401 -- objects of the library have no types here
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tokenmill.compat.hf._library import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LETTERS = {"a": 0, "b": 1}


class Part(NamedTuple):
    """A text (`sequence` 0 or 1), or else one token that is put in."""

    sequence: int | None
    id: int
    token: str
    type_id: int


class Template(NamedTuple):
    """What is made of one text or of two."""

    parts: tuple[Part, ...]
    n_sequences: int

    @property
    def added(self) -> int:
        """Count the tokens that are put in."""
        return sum(part.sequence is None for part in self.parts)

    @property
    def keeps_types(self) -> bool:
        """Whether texts have type 0 and 1, as they have before anything is put around them."""
        return all(part.sequence in (None, part.type_id) for part in self.parts)

    def lengths(self, texts: tuple[NDArray[Any], ...]) -> Any:
        """Return the length of the whole for the lengths of the texts."""
        used = [texts[part.sequence] for part in self.parts if part.sequence is not None]
        return self.added + sum(used)


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


def read_template(probe: Any, *, pair: bool, add_special_tokens: bool) -> Template | None:
    """Ask the probe; None if what it does cannot be told from one letter a text."""
    plain = library("tokenizers").Tokenizer(probe.model)
    if probe.post_processor is not None:
        plain.post_processor = probe.post_processor
    found = plain.encode("a", "b" if pair else None, add_special_tokens=add_special_tokens)
    parts = tuple(map(Part, found.sequence_ids, found.ids, found.tokens, found.type_ids))
    mask = [int(part.sequence is None) for part in parts]
    if found.special_tokens_mask != mask or set(found.attention_mask) - {1}:
        return None
    return Template(parts, found.n_sequences)

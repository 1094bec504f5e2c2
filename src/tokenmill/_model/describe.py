"""Description: what a tokenizer is and which path its texts take, for people and programs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Path = Literal["native", "dfa", "reference"]

_PATHS = {
    "native": "native: a built-in rule finds the words",
    "dfa": "dfa: an automaton made of the pattern finds the words",
    "reference": "reference: the tokenizer's own library does all of the work",
}


@dataclass(frozen=True)
class Description:
    """How a tokenizer runs. `str()` is for reading, `to_json()` for programs.

    `path` is "native" (a built-in split rule), "dfa" (an automaton made of the pattern) or
    "reference" (the tokenizer's own library); `reasons` explains why it is not the faster one.
    `target` names the SIMD body in use; it is empty on the reference path.
    """

    name: str
    kind: str
    path: Path
    split: tuple[str, ...]
    normalizer: tuple[str, ...]
    decoder: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    vocab_size: int
    special_tokens: int
    content_hash: str
    target: str

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any], vocab_size: int, target: str) -> Description:
        """Read what the compiler wrote into the model."""
        return cls(
            name=meta["name"],
            kind=meta["kind"],
            path=meta["path"],
            split=tuple(meta["split"]),
            normalizer=tuple(meta["normalizer"]),
            decoder=meta["decoder"],
            reasons=tuple(meta["reasons"]),
            notes=tuple(meta["notes"]),
            vocab_size=vocab_size,
            special_tokens=len(meta["special_tokens"]),
            content_hash=meta["hash"],
            target=target,
        )

    def to_json(self) -> str:
        """Return one JSON object with the fields as they are."""
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        rows = [
            ("tokenizer", (f"{self.name} ({self.kind})",)),
            ("path", (_PATHS[self.path],)),
            ("why", self.reasons),
            ("split", self.split or ("none: a text is one word",)),
            ("normalizer", self.normalizer or ("none",)),
            ("decoder", (self.decoder,)),
            ("vocabulary", (f"{self.vocab_size} ids, {self.special_tokens} special tokens",)),
            ("note", self.notes),
            ("target", (self.target,) if self.target else ()),
            ("hash", (self.content_hash,)),
        ]
        return "\n".join(f"{label:<11} {line}" for label, lines in rows for line in lines)

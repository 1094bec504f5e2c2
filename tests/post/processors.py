"""Post-processors of all kinds around a tokenizer whose ids are bytes."""

from __future__ import annotations

from typing import Any

from tests.load.sources import BYTE_LEVEL

SPECIAL = {
    "x": {"id": "x", "ids": [1], "tokens": ["x"]},
    "y": {"id": "y", "ids": [2, 3], "tokens": ["y", "z"]},
}
BERT = {"type": "BertProcessing", "cls": ["c", 7], "sep": ["s", 8]}
ROBERTA = {
    "type": "RobertaProcessing", "cls": ["c", 7], "sep": ["s", 8], "trim_offsets": True,
    "add_prefix_space": False,
}  # fmt: skip


def template(single: str, pair: str) -> dict[str, Any]:
    """A template as the library's own notation writes it: "x:0 A:1 y:0"."""
    return {
        "type": "TemplateProcessing",
        "single": [_piece(word) for word in single.split()],
        "pair": [_piece(word) for word in pair.split()],
        "special_tokens": SPECIAL,
    }


def _piece(word: str) -> dict[str, Any]:
    name, _, type_id = word.partition(":")
    kind = "Sequence" if name in ("A", "B") else "SpecialToken"
    return {kind: {"id": name, "type_id": int(type_id)}}


PROCESSORS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "byte level": BYTE_LEVEL,
    "empty sequence": {"type": "Sequence", "processors": []},
    "bert": BERT,
    "roberta": ROBERTA,
    "one in front": template("x:0 A:0", "x:0 A:0 x:1 B:1"),
    "all sides": template("x:5 A:6 y:7", "x:5 B:3 y:4 A:2 y:1"),
    "no types": template("x:0 A:0 x:0", "x:0 A:0 x:0 x:0 B:0 x:0"),
    "text twice": template("A:0 y:0", "A:1 A:2 x:3 B:4"),
    "three texts": template("A:2", "B:1 A:2 B:3"),
    "second text dropped": template("A:0", "x:0 A:1"),
    "sequence": {
        "type": "Sequence",
        "processors": [BYTE_LEVEL, template("x:0 A:0", "A:0 y:1 B:1")],
    },
    "template then byte level": {"type": "Sequence", "processors": [BERT, BYTE_LEVEL]},
}

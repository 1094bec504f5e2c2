"""Rows, copies and bad records to look at: a few of each, decoded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tokenmill._mill.output.quarantine import quarantined

if TYPE_CHECKING:
    from tokenmill._mill.inspect import RowFinder
    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.views import RowView

_ROW_TOKENS = 500
_EXAMPLES = 5
_RAW_CHARACTERS = 400
_TEXT_CHARACTERS = 300


def sample_rows(finder: RowFinder, rows: dict[str, int], count: int) -> list[dict[str, Any]]:
    """Return rows far apart, with the token texts of their first pieces; `rows` are by split."""
    found = []
    for split, have in rows.items():
        wanted = min(have, max(1, round(count * have / max(sum(rows.values()), 1))))
        places = [(2 * number + 1) * have // (2 * wanted) for number in range(wanted)]
        found += [_row_facts(finder.row(row, split)) for row in dict.fromkeys(places)]
    return found


def _row_facts(view: RowView) -> dict[str, Any]:
    left, pieces = _ROW_TOKENS, []
    for piece in view.pieces:
        shown = min(left, len(piece.ids))
        left -= shown
        pieces.append(
            {
                "document": piece.place.number,
                "file": piece.place.file,
                "line": piece.place.line,
                "begin": piece.begin,
                "tokens": len(piece.ids),
                "document_tokens": piece.place.tokens,
                "begins_document": piece.begins_document,
                "ends_document": piece.ends_document,
                "shown": [
                    [i, text] for i, text in zip(piece.ids[:shown], piece.tokens, strict=False)
                ],
            }
        )
        if left == 0:
            break
    return {
        "split": view.split,
        "row": view.row,
        "shard": view.shard,
        "tokens": view.tokens,
        "padding": view.padding,
        "pieces": pieces,
        "pieces_left": len(view.pieces) - len(pieces),
    }


def copy_facts(finder: RowFinder, largest: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return the texts with the most copies."""
    found = []
    for copies, number in largest:
        view = finder.document(number)
        place = view.place
        found.append(
            {
                "copies": copies,
                "document": number,
                "file": place.file,
                "line": place.line,
                "tokens": place.tokens,
                "text": view.text[:_TEXT_CHARACTERS],
            }
        )
    return found


def quarantine_facts(manifest: Manifest) -> dict[str, Any]:
    """Count the quarantine by reason, with the first records of each."""
    counts: Counter[str] = Counter()
    examples: dict[str, list[dict[str, Any]]] = {}
    for record in quarantined(manifest):
        reason = str(record["reason"])
        counts[reason] += 1
        if counts[reason] <= _EXAMPLES:
            kept = {name: record[name] for name in ("file", "line", "length", "message")}
            examples.setdefault(reason, []).append({**kept, "raw": record["raw"][:_RAW_CHARACTERS]})
    return {
        "records": counts.total(),
        "reasons": [
            {"reason": reason, "records": count, "examples": examples[reason]}
            for reason, count in counts.most_common()
        ],
    }

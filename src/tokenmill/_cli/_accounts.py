"""The accounts of a finished output as lines: what came in, what was taken off, what is left."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokenmill._cli._lines import counted, line, named
from tokenmill._numbers import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenmill._mill.output.manifest import Manifest

BAD_FILE = "bad_file"  # the reason of a whole file that could not be read
_LOOKED_AT = 10_000  # lines of the quarantine, for the first place of each reason
# Why documents are left out that nothing is wrong with.
_LEFT_OUT = {
    "limit_documents": "after --limit-documents",
    "max_tokens": "after --max-tokens",
    "max_sequences": "after the last row you asked for",
    "source_cap": "above the max_tokens of their source",
    "not_in_the_mix": "above the weight of their source",
    "tail": "in the last, short row, which is dropped",
    "no_row": "no row has room for them",
    "no_tokens": "the tokenizer returns no token for them",
}


def document_lines(manifest: Manifest) -> list[str]:
    """Account for documents, and for files that could not be read."""
    books = manifest.documents
    skipped = {why: count for why, count in books["skipped"].items() if why != BAD_FILE}
    read = documents_read(books)
    places = _first_places(manifest, [why for why in books["skipped"] if _is_aside(manifest, why)])
    lines = [line("documents", f"{read:,}", "read" if skipped else "read, all of them packed")]
    for why, count in skipped.items():
        lines.append(line("", f"-{count:,}", _words(why), _note(manifest, why, count, places)))
    if skipped:
        lines.append(line("", f"{books['out']:,}", "packed"))
    for why, count in books["replaced"].items():
        lines.append(line("", f"{count:,}", "of them repaired", _words(why)))
    failed = books["skipped"].get(BAD_FILE, 0)
    if failed:
        note = _note(manifest, BAD_FILE, failed, places)
        lines.append(line("left out", f"{failed:,}", f"unreadable {named(failed, 'file')}", note))
    aside = sum(n for why, n in books["skipped"].items() if _is_aside(manifest, why))
    if aside:
        lines.append(line("quarantined", f"{aside:,}", f"{manifest.where}/quarantine.jsonl"))
    return lines


def documents_read(books: dict[str, Any]) -> int:
    """Return how many records were read: the books count an unreadable file as one, too."""
    return int(books["in"]) - int(books["skipped"].get(BAD_FILE, 0))


def token_lines(manifest: Manifest) -> list[str]:
    """Account for tokens."""
    books = manifest.tokens
    changes = [("+", "padding"), ("+", "repeated"), ("-", "dropped")]
    lines = [
        line("", f"{sign}{books[name]:,}", name if name != "repeated" else "shared by two rows")
        for sign, name in changes
        if books[name]
    ]
    if not lines:
        return [line("tokens", f"{books['in']:,}", "encoded, all of them stored")]
    formats = list(dict.fromkeys(shard["format"] for shard in manifest.shards))
    stored = "stored" if len(formats) <= 1 else f"stored in {formats[0]}"
    first = line("tokens", f"{books['in']:,}", "encoded")
    return [first, *lines, line("", f"{books['out']:,}", stored)]


def shard_lines(manifest: Manifest) -> list[str]:
    """List the shards by format, and by split if there are several."""
    groups: dict[str, list[dict[str, Any]]] = {}
    several = len({shard["split"] for shard in manifest.shards}) > 1
    for shard in manifest.shards:
        name = f"{shard['format']} {shard['split']}" if several else shard["format"]
        groups.setdefault(name, []).append(shard)
    width = max(map(len, groups), default=0)
    lines: list[str] = []
    for name, shards in groups.items():
        stored = sum(file["bytes"] for shard in shards for file in shard["files"])
        rows, tokens = (sum(shard[key] for shard in shards) for key in ("rows", "tokens"))
        where = f"{manifest.where}/{shards[0]['format']}"
        what = f"{counted(rows, 'row')}, {tokens:,} tokens, {size(stored)} in {where}"
        label = "" if lines else "shards"
        lines.append(line(label, f"{len(shards):,}", name.ljust(width), what))
    return lines or [line("shards", "0", "no document filled a row")]


def _note(manifest: Manifest, why: str, count: int, places: dict[str, str]) -> str:
    """Return where a reason was met first, or why no place is recorded."""
    if why in places:
        return ("first in " if count > 1 else "") + places[why]
    return "" if _is_aside(manifest, why) else _LEFT_OUT.get(why, "counted, not quarantined")


def _first_places(manifest: Manifest, reasons: Sequence[str]) -> dict[str, str]:
    from tokenmill._mirror import is_here

    found: dict[str, str] = {}
    path = manifest.folder / "quarantine.jsonl"
    if not reasons or not is_here(path):
        return found
    with path.open(encoding="utf-8") as lines:
        for text in islice(lines, _LOOKED_AT):
            record = json.loads(text)
            place = "" if record["reason"] == BAD_FILE else f":{record['line']}"
            found.setdefault(record["reason"], record["file"] + place)
            if len(found) == len(reasons):
                break
    return found


def _is_aside(manifest: Manifest, reason: str) -> bool:
    policies: dict[str, str] = manifest.options.get("policies", {})
    return policies.get(reason) == "quarantine"


def _words(reason: str) -> str:
    return reason.replace("_", " ").replace("utf8", "UTF-8").replace("json", "JSON")

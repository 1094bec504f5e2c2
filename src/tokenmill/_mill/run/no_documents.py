"""The error of a run whose records are all bad: the first reason, and the fields they have."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokenmill._errors import BadRecordFound, Hint, Option
from tokenmill._mill.run.prefix import FORGIVEN
from tokenmill._read import field_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._mill.output.parts import Part
    from tokenmill._mill.output.tables import LineBases
    from tokenmill._mill.plan.plan import Plan

_SAMPLE_RECORDS = 200
_SHOWN_FIELDS = 20
_OF_FIELDS = ("missing_field", "null_field", "wrong_type")


def refuse_no_documents(parts: Sequence[Part], plan: Plan, bases: LineBases) -> None:
    """Raise BadRecordFound if all records that were read are bad.

    Inputs without a record, or with empty texts only, are not an error.
    """
    counts: Counter[str] = Counter()
    for part in parts:
        if part.record.documents:
            return
        counts.update(part.record.bad)
    if not any(reason not in FORGIVEN for reason in counts):
        return
    part, first = next((p, r) for p, r in _bad_records(parts) if r["reason"] not in FORGIVEN)
    number, is_file = int(first["file"]), first["reason"] == "bad_file"
    names = _names(parts, plan, number) if first["reason"] in _OF_FIELDS else []
    raise BadRecordFound(
        _problem(counts, first, plan.fields[number]) + _listed(names),
        path=plan.files[number].path,
        line=None if is_file else first["line"] + bases.of(part.record.stream),
        hint=Hint("name the text field with {}", Option("field")) if names else "",
    )


def _problem(counts: Counter[str], first: dict[str, Any], field: str) -> str:
    reason, count = first["reason"], sum(counts.values())
    things = "file" if set(counts) == {"bad_file"} else "record"
    all_of_them = f"{count:,} {things}" + ("" if count == 1 else "s")
    if reason == "missing_field" and counts[reason] == count:
        return f"field {field!r} is in none of {all_of_them}"
    return f"no document in {all_of_them}; the first: {first['message']}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_FIELDS} more" if len(names) > _SHOWN_FIELDS else ""
    return f"; they have: {', '.join(names[:_SHOWN_FIELDS])}{more}" if names else ""


def _bad_records(parts: Sequence[Part]) -> Iterator[tuple[Part, dict[str, Any]]]:
    for part in parts:
        for record in part.bad():
            yield part, record


def _names(parts: Sequence[Part], plan: Plan, number: int) -> list[str]:
    """Return the fields of the first records, from the bytes that were kept of bad ones."""
    names: dict[str, None] = {}
    for _, record in islice(_bad_records(parts), _SAMPLE_RECORDS):
        try:
            value = json.loads(record["raw"])
        except (ValueError, RecursionError):  # cut short, or a row that is not JSON
            continue
        names |= dict.fromkeys(value if isinstance(value, dict) else ())
    return list(names) or field_names(plan.files[number], plan.rules)

"""The plan of a run: a pure function of its inputs and options, and the name of its output.

Two runs with the same plan write the same bytes, so the second can resume where the first was
stopped. The number of workers, the memory limit and the error budget are not part of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xxhash

from tokenmill._errors import Hint, Option, PlanDiffers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokenmill._mill.plan.settings import Settings
    from tokenmill._mill.plan.sources import Source
    from tokenmill._read import InputFile, ReadRules, Stream

VERSION = 1  # changes when the same options would give other bytes
_SHOWN = 12


@dataclass(frozen=True)
class Plan:
    """What a run will read and how: `facts` decide its bytes, and `id` is their hash."""

    settings: Settings
    rules: ReadRules
    sources: tuple[Source, ...]
    files: tuple[InputFile, ...]
    fields: tuple[str, ...]  # the text field of each file; "" for plain text, which has none
    streams: tuple[Stream, ...]
    facts: dict[str, Any]
    id: str

    @property
    def total_bytes(self) -> int:
        """The size of all inputs, as far as it is known."""
        return sum(max(file.size, 0) for file in self.files)


def plan_facts(
    settings: Settings,
    rules: ReadRules,
    sources: Sequence[Source],
    inputs: Sequence[tuple[InputFile, str]],
    tokenizer: dict[str, str],
) -> dict[str, Any]:
    """Gather everything that decides the bytes of a run, as plain values."""
    return {
        "version": VERSION,
        "tokenizer": tokenizer,
        "options": {
            **settings.as_json(),
            "text_mode": rules.text_mode,
            "max_document_bytes": rules.max_document_bytes,
            "delimiter": rules.delimiter,
        },
        "sources": [source.as_json() for source in sources],
        "inputs": [
            {
                "path": file.path,
                "source": file.source,
                "size": file.size,
                "modified_ns": file.modified_ns,
                "format": file.format,
                "compression": file.compression,
                "field": field,
                **({"tag": file.tag} if file.tag else {}),
            }
            for file, field in inputs
        ],
    }


def plan_id(facts: dict[str, Any]) -> str:
    """Hash the facts of a plan."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return str(xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogateescape")))


def refuse_another_plan(there: dict[str, Any], wanted: dict[str, Any], output: str) -> None:
    """Raise PlanDiffers, with the differences, unless both are the same."""
    if there == wanted:
        return
    lines = list(differences(there, wanted))
    more = f"\n  and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    raise PlanDiffers(
        "made by another command; what differs:\n  " + "\n  ".join(lines[:_SHOWN]) + more,
        where=output,
        differences=tuple(lines),
        hint=Hint(
            "resume with the same command, choose another output, or start over with {}",
            Option("force", value=True),
        ),
    )


def differences(there: Any, wanted: Any, name: str = "") -> Iterator[str]:
    """Yield a line for every value that differs: `options.seed: 1 in the output, 2 now`."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        for key in sorted({*there, *wanted}):
            inner = f"{name}.{key}" if name else key
            yield from differences(there.get(key), wanted.get(key), inner)
    elif _has_paths(there) and _has_paths(wanted):
        yield from _of_files(there, wanted, name)
    elif isinstance(there, list) and isinstance(wanted, list) and len(there) == len(wanted):
        for index, pair in enumerate(zip(there, wanted, strict=True)):
            yield from differences(*pair, f"{name}[{index}]")
    elif isinstance(there, list) and isinstance(wanted, list):
        yield f"{name}: {len(there)} in the output, {len(wanted)} now"
    elif there != wanted:
        yield f"{name}: {json.dumps(there)} in the output, {json.dumps(wanted)} now"


def _has_paths(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, dict) and "path" in v for v in value)


def _of_files(
    there: list[dict[str, Any]], wanted: list[dict[str, Any]], name: str
) -> Iterator[str]:
    """Name files instead of their numbers: `a.jsonl size: 1 in the output, 2 now`."""
    before, after = ({file["path"]: file for file in files} for files in (there, wanted))
    for path in (path for path in before if path not in after):
        yield f"{name}: {path} is missing now"
    for path in (path for path in after if path not in before):
        yield f"{name}: {path} was not there before"
    for path in (path for path in after if path in before):
        yield from (f"{path} {line}" for line in differences(before[path], after[path]))
    if before.keys() == after.keys() and list(before) != list(after):
        yield f"{name}: in another order"

"""Inputs and options as people write them -> a task: a plan and its tokenizer."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill._checks import one_of
from tokenmill._config import configured
from tokenmill._errors import OptionError, SourceNotFound
from tokenmill._mill.output.open_work import view_work
from tokenmill._mill.plan.memory import longest_document
from tokenmill._mill.plan.options import refuse_unknown_options
from tokenmill._mill.plan.plan import Plan, plan_facts, plan_id
from tokenmill._mill.plan.resolve import resolve_settings
from tokenmill._mill.plan.sources import Source, as_sources
from tokenmill._read import ReadRules, deal_streams, find_field, find_inputs, formats
from tokenmill._store import RequestCounts, request_counts
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from tokenmill._mill.output.work import Work
    from tokenmill._mill.plan.options import PackOptions
    from tokenmill._read import InputFile


@dataclass(frozen=True)
class Task:
    """A plan, its tokenizer, and notes for people on what was chosen."""

    plan: Plan
    tokenizer: Tokenizer
    notes: tuple[str, ...]
    tokenizer_source: str | None = None  # the path or name it was loaded from, if any
    requests_before: RequestCounts = field(default_factory=request_counts)  # to object stores


def prepare_task(
    inputs: Any,
    *,
    tokenizer: object = None,
    memory_limit: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    fetch_rows: int | None = None,
    **options: Unpack[PackOptions],
) -> Task:
    """Find inputs, load the tokenizer, resolve what was left open, and make the plan.

    Files that a run wrote to `output` are not inputs, even if that folder is among them.
    `fetch_rows` rows of a dataset are fetched at a time; this never changes a byte.
    """
    before = request_counts()
    refuse_unknown_options(options)
    if output is not None and not os.fspath(output):  # Path("") would be this folder
        raise OptionError("expected a folder, got an empty name", where="output")
    sources = as_sources(inputs)
    loaded = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer)
    notes: list[str] = []
    settings = resolve_settings(options, tokenizer, loaded, notes)
    rules = ReadRules(
        field=options.get("field"),
        text_mode=options.get("text_mode", "file"),
        max_document_bytes=longest_document(options.get("max_document_bytes"), memory_limit),
        replace=frozenset(r for r, policy in settings.policies if policy == "replace"),
        delimiter=options.get("delimiter"),
        skip_bad_files=settings.policy("bad_file") != "fail",
        **_sizes(fetch_rows),
    )
    files, left_out = list_files(
        sources,
        None if output is None else view_work(output),
        keep_unreadable=rules.skip_bad_files,
        input_format=_input_format(options),
    )
    if left_out:
        files_are = "file" if left_out == 1 else "files"
        notes.append(f"left out    {left_out:,} {files_are} with an unknown suffix in folders")
    fields = find_fields(files, sources, rules, notes)
    facts = plan_facts(
        settings,
        rules,
        sources,
        list(zip(files, fields, strict=True)),
        {"name": loaded.name, "hash": loaded.describe().content_hash},
    )
    streams = tuple(deal_streams(files, rules))
    plan = Plan(settings, rules, sources, tuple(files), fields, streams, facts, plan_id(facts))
    source = os.fspath(tokenizer) if isinstance(tokenizer, (str, os.PathLike)) else None
    return Task(plan, loaded, tuple(notes), source, before)


def _sizes(fetch_rows: int | None) -> dict[str, int]:
    """Return the sizes that are not the usual ones; none of them changes a byte."""
    given = {"fetch_rows": fetch_rows, "block_bytes": configured().block_bytes}
    return {name: value for name, value in given.items() if value is not None}


def _input_format(options: PackOptions) -> str | None:
    given = options.get("input_format")
    return None if given is None else one_of("input_format", given, formats.OF_FILES)


def list_files(
    sources: Sequence[Source],
    work: Work | None = None,
    *,
    keep_unreadable: bool = False,
    input_format: str | None = None,
) -> tuple[list[InputFile], int]:
    """List the files of sources, and count those in folders that have an unknown suffix."""
    owners = [number for number, source in enumerate(sources) for _ in source.paths]
    found = find_inputs(
        [path for source in sources for path in source.paths],
        keep_unreadable=keep_unreadable,
        input_format=input_format,
    )
    files = [dataclasses.replace(file, source=owners[file.source]) for file in found.files]
    if work is not None:
        files = [file for file in files if file.data is not None or not work.owns(file.path)]
        if not files:
            raise SourceNotFound("it holds only files of this output", source=work.where)
    return files, found.left_out


def find_fields(
    files: Sequence[InputFile],
    sources: Sequence[Source],
    rules: ReadRules,
    notes: list[str],
) -> tuple[str, ...]:
    """Find the text field of each source; all its files must have it."""
    known: dict[tuple[int, bool], str] = {}
    fields = []
    for file in files:
        key = (file.source, file.format == "text")
        if key not in known:
            own = sources[file.source].field
            ruled = rules if own is None else dataclasses.replace(rules, field=own)
            alike = (other for other in files if (other.source, other.format == "text") == key)
            known[key] = find_field(alike, ruled)
            if known[key]:
                how = "given" if ruled.field is not None else "detected"
                notes.append(f"text field  {known[key]} ({how}, {sources[file.source].name})")
        fields.append(known[key])
    return tuple(fields)

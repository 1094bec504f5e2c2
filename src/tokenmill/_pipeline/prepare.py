"""`pack`: options as people give them -> a plan -> a run -> the manifest."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokenmill._errors import OptionError, SourceNotFound
from tokenmill._load.boundary_tokens import find_boundary_tokens
from tokenmill._options import MAX_U16
from tokenmill._pipeline.books import Budget
from tokenmill._pipeline.device import CPU, Device, choose_device
from tokenmill._pipeline.ends import resolve_boundary, resolve_eos
from tokenmill._pipeline.memory import affordable_workers, longest_document
from tokenmill._pipeline.meter import Meter
from tokenmill._pipeline.options import refuse_unknown_options
from tokenmill._pipeline.plan import Plan, plan_facts, plan_id
from tokenmill._pipeline.progress import Progress, peak_memory_mb
from tokenmill._pipeline.read_ahead import ReadAhead
from tokenmill._pipeline.run import Run
from tokenmill._pipeline.settings import (
    SHARD_TOKENS,
    Settings,
    resolve_formats,
    resolve_pack,
    resolve_policies,
    resolve_tail,
)
from tokenmill._pipeline.sources import Source, as_sources
from tokenmill._pipeline.work import Work
from tokenmill._read import ReadRules, deal_streams, find_field, find_inputs
from tokenmill._tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from tokenmill._pipeline.manifest import Manifest
    from tokenmill._pipeline.options import PackOptions
    from tokenmill._read import InputFile


def pack(
    inputs: Any,  # noqa: ANN401 -- paths, globs, folders, URLs, datasets, sources
    *,
    output: str | os.PathLike[str],
    tokenizer: object = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    max_bad: int | float | str | None = None,
    force: bool = False,
    progress: Literal["auto", "bar", "plain", "json", "none"] = "none",
    device: str = "cpu",
    **options: Unpack[PackOptions],
) -> Manifest:
    """Tokenize and pack inputs into shards below `output`; the same call again resumes.

    `inputs`: files, globs, folders, "-", URLs, datasets, or sources with weights and caps.
    `tokenizer`: whatever `Tokenizer.load` takes, or a Tokenizer; None is the one in the package.
    `workers`, `memory_limit` ("2GB"), `max_bad` (a count or "0.1%"), `progress` and `device` never
    change a byte. `device` tokenizes: "cpu", "cuda", "cuda:1", or "auto", a GPU where that can be.
    `force` starts over. The other options decide the bytes; PackOptions lists them.
    """
    task = prepare_task(
        inputs, tokenizer=tokenizer, memory_limit=memory_limit, output=output, **options
    )
    return pack_task(
        task,
        output=output,
        workers=workers,
        memory_limit=memory_limit,
        max_bad=max_bad,
        force=force,
        progress=progress,
        device=device,
    ).manifest


@dataclass(frozen=True)
class Task:
    """A plan with the tokenizer that carries it out, and notes for people on what was chosen."""

    plan: Plan
    tokenizer: Tokenizer
    notes: tuple[str, ...]
    tokenizer_source: str | None = None  # where it was loaded from, where that has a name


@dataclass(frozen=True)
class PackResult:
    """What a run came to: its manifest, its counters, and whether an earlier run had done it."""

    manifest: Manifest
    meter: Meter
    was_finished: bool
    memory_mb: float
    device: Device = CPU


def pack_task(
    task: Task,
    *,
    output: str | os.PathLike[str],
    workers: int | None = None,
    memory_limit: int | str | None = None,
    max_bad: int | float | str | None = None,
    force: bool = False,
    progress: str = "none",
    device: str = "cpu",
    read_ahead: int = 0,
) -> PackResult:
    """Carry out a plan, or what is missing of it.

    The system is asked to read `read_ahead` files before their turn, which never changes a byte.
    """
    chosen = choose_device(device, task.tokenizer)
    count = affordable_workers(workers, memory_limit, task.tokenizer)
    meter = Meter(total_bytes=task.plan.total_bytes)
    run = Run(
        task.plan,
        task.tokenizer,
        Path(output),
        count,
        parse_budget(max_bad),
        meter,
        tokenizer_source=task.tokenizer_source,
        device=chosen.encoder,
        ahead=ReadAhead(task.plan, _whole("read_ahead", read_ahead, 0)),
    )
    work = Work(Path(output))
    with work.locked():
        if force:
            work.clear()
        manifest = run.finished()
        was_finished = manifest is not None
        if manifest is None:
            run.start()
            with Progress(meter, progress):
                manifest = run.execute()
    return PackResult(manifest, meter, was_finished, peak_memory_mb(), chosen)


def prepare_task(
    inputs: Any,  # noqa: ANN401
    *,
    tokenizer: object = None,
    memory_limit: int | str | None = None,
    output: str | os.PathLike[str] | None = None,
    fetch_rows: int | None = None,
    **options: Unpack[PackOptions],
) -> Task:
    """Find inputs, load the tokenizer, resolve what was left open, and make the plan.

    What a run wrote to `output` is no input, though its folder may lie among them. `fetch_rows` are
    asked of a dataset at a time, which never changes a byte.
    """
    refuse_unknown_options(options)
    if output is not None and not os.fspath(output):  # Path("") would be this folder
        raise OptionError("expected a folder, got an empty name", where="output")
    sources = as_sources(inputs)
    loaded = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer)
    notes: list[str] = []
    settings = _settings(options, tokenizer, loaded, notes)
    rules = ReadRules(
        field=options.get("field"),
        text_mode=options.get("text_mode", "file"),
        max_document_bytes=longest_document(options.get("max_document_bytes"), memory_limit),
        replace=frozenset(r for r, policy in settings.policies if policy == "replace"),
        delimiter=options.get("delimiter"),
        skip_bad_files=settings.policy("bad_file") != "fail",
        **({} if fetch_rows is None else {"fetch_rows": fetch_rows}),
    )
    files, left_out = list_files(
        sources,
        None if output is None else Work(Path(output)),
        keep_unreadable=rules.skip_bad_files,
    )
    if left_out:
        files_are = "file" if left_out == 1 else "files"
        notes.append(f"left out    {left_out:,} {files_are} of other kinds in folders")
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
    return Task(plan, loaded, tuple(notes), source)


def list_files(
    sources: Sequence[Source], work: Work | None = None, *, keep_unreadable: bool = False
) -> tuple[list[InputFile], int]:
    """List the files of sources, and count those of other kinds that were left out of folders."""
    owners = [number for number, source in enumerate(sources) for _ in source.paths]
    found = find_inputs(
        [path for source in sources for path in source.paths], keep_unreadable=keep_unreadable
    )
    files = [dataclasses.replace(file, source=owners[file.source]) for file in found.files]
    if work is not None:
        files = [file for file in files if file.data is not None or not work.owns(file.path)]
        if not files:
            raise SourceNotFound("nothing but files of this output", source=str(work.output))
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
                how = "given" if ruled.field is not None else "found"
                notes.append(f"text field  {known[key]} ({how}, {sources[file.source].name})")
        fields.append(known[key])
    return tuple(fields)


def _settings(
    options: PackOptions, source: object, tokenizer: Tokenizer, notes: list[str]
) -> Settings:
    formats = resolve_formats(options.get("format", "bin"))
    way, length = resolve_pack(options.get("pack"), options.get("context_length"), formats)
    ends = find_boundary_tokens(source, tokenizer, ("eos", "bos", "pad"))
    eos = resolve_eos(options.get("eos"), tokenizer, ends, notes)
    bos = resolve_boundary("bos", options.get("bos", False), tokenizer, ends, notes)
    pad = resolve_boundary("pad", options.get("pad"), tokenizer, ends, notes)
    if pad is None and way not in ("none",):
        pad = eos  # what most trainers do that know no padding token
    ids = [tokenizer.vocab_size - 1, *(i for i in (eos, bos, pad) if i is not None)]
    tail = resolve_tail(options.get("tail"), way, formats)
    settings = Settings(
        formats=formats,
        pack=way,
        context_length=length,
        overlap=options.get("overlap", 0),
        long_documents=options.get("long_documents", "split"),
        tail=tail,
        eos_id=eos,
        bos_id=bos,
        pad_id=pad,
        max_id=max(ids),
        dtype="uint16" if max(ids) <= MAX_U16 else "uint32",
        special_in_text=options.get("special_in_text", "text"),
        shard_tokens=_whole("shard_tokens", options.get("shard_tokens", SHARD_TOKENS), 1),
        shuffle=_one_of("shuffle", options.get("shuffle") or "none", ("none", "docs")),
        seed=_whole("seed", options.get("seed", 0), 0),
        validation=_share("validation", options.get("validation", 0.0)),
        max_tokens=_limit("max_tokens", options.get("max_tokens")),
        max_sequences=_limit("max_sequences", options.get("max_sequences")),
        limit_documents=_limit("limit_documents", options.get("limit_documents")),
        policies=resolve_policies(options.get("on_bad")),
    )
    settings.packer()  # refuses options that do not go together
    if way == "bos-bestfit-crop" and bos is None:
        raise OptionError(
            "every row has to begin with a BOS token, and none is added",
            where="pack bos-bestfit-crop",
            hint="give bos=True, or the token's name or id",
        )
    return settings


def parse_budget(max_bad: int | float | str | None) -> Budget:
    """Read an error budget: None, a count, a share below 1, or text as "0.1%"."""
    if max_bad is None:
        return Budget()
    text = str(max_bad).strip()
    try:
        if text.endswith("%"):
            return Budget(share=_between(float(text[:-1]) / 100))
        if isinstance(max_bad, float) or "." in text:
            return Budget(share=_between(float(text)))
        if int(text) >= 0:
            return Budget(count=int(text))
    except ValueError:
        pass
    raise OptionError(
        f"expected a count as 100 or a share as 0.1%, got {max_bad!r}", where="max_bad"
    )


def _between(share: float) -> float:
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _share(name: str, value: Any) -> float:  # noqa: ANN401
    text = str(value).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise OptionError(f"expected a share as 0.01 or 1%, got {value!r}", where=name)
    return share


def _whole(name: str, value: Any, least: int) -> int:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OptionError(f"expected a whole number from {least}, got {value!r}", where=name)
    return value


def _limit(name: str, value: Any) -> int | None:  # noqa: ANN401
    return None if value is None else _whole(name, value, 1)


def _one_of(name: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise OptionError(f"expected one of {', '.join(choices)}, got {value!r}", where=name)
    return value

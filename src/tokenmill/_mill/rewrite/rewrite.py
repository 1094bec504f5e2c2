"""`rewrite`: finished outputs -> a new one: other formats, other shards, or several as one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokenmill import __version__
from tokenmill._calls.options import thread_count
from tokenmill._checks import whole_number_or_none
from tokenmill._errors import BooksDiffer, OptionError, OutputInUse, PlanDiffers
from tokenmill._mill.meter import REWRITE, Meter
from tokenmill._mill.output.books import Books
from tokenmill._mill.output.document_table import DocumentTable
from tokenmill._mill.output.manifest import SCHEMA, Manifest
from tokenmill._mill.output.open_work import folder_of
from tokenmill._mill.output.shard_records import (
    file_entries,
    finish_formats,
    has_room_for_one,
    manifest_entries,
)
from tokenmill._mill.output.stored import stored_shards
from tokenmill._mill.output.work import DOCUMENTS, LOCK, Work, write_json
from tokenmill._mill.plan.plan import plan_id, refuse_another_plan
from tokenmill._mill.plan.settings import resolve_formats
from tokenmill._mill.progress import Progress
from tokenmill._mill.rewrite.facts import is_padded, rewrite_facts
from tokenmill._mill.rewrite.shards import NewShard, Rewriting, count_documents, lay_out
from tokenmill._mill.rewrite.tables import join_documents, join_quarantines
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.exporters import exporters
from tokenmill._mill.watch.heartbeat import Heartbeat, HeartbeatFile
from tokenmill._mirror import shown
from tokenmill._timeline import AWAY, stage
from tokenmill._write import Extras

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tokenmill._files import FileRecord
    from tokenmill._mill.output.shard_records import ShardRecord
    from tokenmill._mill.watch.heartbeat import Listener

_SAME = ("tokenizer.hash", "dtype", "context_length", "pad_id")


def rewrite(
    outputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    output: str | os.PathLike[str],
    format: str | Sequence[str] | None = None,  # noqa: A002 -- as `pack` names it
    shard_tokens: int | None = None,
    workers: int | None = None,
    force: bool = False,
    progress: Literal["auto", "bar", "plain", "json", "none"] = "none",
    metrics: str | os.PathLike[str] | None = None,
    otlp: str | None = None,
) -> Manifest:
    """Write the rows of finished outputs to a new one, `output`; the same call again resumes.

    `format`: the formats to write, by default those of the first output. `shard_tokens` puts rows
    into shards of another size; without it shards stay as they are. Several outputs are merged in
    their order. Files that do not have the checksum of their manifest are refused. `progress`,
    `metrics` and `otlp` show the run as those of `pack` do.
    """
    single = isinstance(outputs, (str, Path)) or not hasattr(outputs, "__iter__")
    given: Sequence[Any] = [outputs] if single else list(outputs)  # type: ignore[arg-type]
    if not given:
        raise OptionError("expected one output or more, got none", where="outputs")
    shard_tokens = whole_number_or_none("shard_tokens", shard_tokens)
    manifests = [Manifest.load(folder) for folder in given]
    refuse_to_mix(manifests)
    target = folder_of(output)
    _refuse_overlap(manifests, target)
    names = resolve_formats(format or manifests[0].options["formats"])
    facts = rewrite_facts(manifests, names, shard_tokens)
    work = Work(target)
    _refuse_strangers(work)
    with work.locked():
        if force:
            work.clear()
        finished = _finished(work, facts)
        if finished is not None:
            return finished
        run = _Rewrite(manifests, work, facts, thread_count(workers, "workers"))
        return run.execute_watched([*exporters(metrics, otlp)], progress)


def refuse_to_mix(manifests: Sequence[Manifest]) -> None:
    """Raise PlanDiffers, with the differences, unless the rows of all outputs can be mixed."""
    first = manifests[0]
    lines = [
        f"{key}: {_value(first, key)} in {shown(first.folder)}, "
        f"{_value(other, key)} in {shown(other.folder)}"
        for other in manifests[1:]
        for key in _SAME
        if _value(first, key) != _value(other, key)
    ]
    if lines:
        raise PlanDiffers(
            "these outputs cannot be merged; what differs:\n  " + "\n  ".join(lines),
            where="merge",
            differences=tuple(lines),
            hint="pack them with the same tokenizer and context length",
        )


def _value(manifest: Manifest, key: str) -> Any:
    value: Any = manifest.data
    for name in key.split("."):
        value = value[name]
    return value


def _refuse_overlap(manifests: Sequence[Manifest], target: Path) -> None:
    """Refuse to write to a folder that is read, or to one that contains it."""
    for manifest in manifests:
        if target.resolve() in (manifest.folder.resolve(), *manifest.folder.resolve().parents):
            raise OptionError(
                f"{manifest.folder} is read, and would be overwritten",
                where=str(target),
                hint="choose another output",
            )


def _refuse_strangers(work: Work) -> None:
    """Refuse a folder that is not empty and not an output."""
    there = work.output.iterdir() if work.output.is_dir() else ()
    names = sorted(path.name for path in there if path.name != LOCK)
    if names and work.facts() is None:
        raise OutputInUse(
            f"is not an output, and is not empty: it holds {names[0]}",
            where=str(work.output),
            hint="choose a new or empty folder",
        )


def _finished(work: Work, facts: dict[str, Any]) -> Manifest | None:
    """Return the manifest if an earlier run has finished; refuse the output of another plan."""
    there = work.facts()
    if there is not None:
        refuse_another_plan(there, facts, str(work.output))
    if not work.manifest.exists():
        return None
    work.finish()
    return Manifest.load(work.output)


class _Rewrite:
    """One run; an earlier one may have done some of the work."""

    def __init__(
        self, manifests: Sequence[Manifest], work: Work, facts: dict[str, Any], workers: int
    ) -> None:
        self._manifests = manifests
        self._work = work
        self._facts = facts
        self._options = facts["options"]
        self._workers = workers
        self._meter = Meter(phase=REWRITE, threads=workers)

    def execute_watched(self, listeners: Sequence[Listener], progress: str) -> Manifest:
        """Do what is missing, seen by those who listen; return the manifest with its counters."""
        meter, where = self._meter, {"output": str(self._work.output)}
        pulse = Pulse(meter, workers=self._workers, extra=where)
        heard = [HeartbeatFile(self._work), *listeners]
        with Heartbeat(pulse, heard), Progress(meter, progress), meter.worker():
            manifest = self._execute()
        meter.end({})
        return replace(manifest, stats=meter.stats())

    def _execute(self) -> Manifest:
        """Write what is missing, the manifest last."""
        self._work.sweep(self._options["formats"])
        if not self._work.plan.exists():
            write_json(self._work.plan, self._facts)
        tables = [DocumentTable(m.folder / DOCUMENTS) for m in self._manifests]
        laid_out = self._lay_out(tables)
        with stage("write"):
            files = [
                join_quarantines(self._work.output, self._manifests),
                join_documents(self._work.output, self._manifests, tables),
            ]
        with stage(AWAY):
            records = self._write_shards(laid_out)
        with stage("write"):
            files += finish_formats(
                self._work.output,
                self._options["formats"],
                records,
                self._manifests[0].data["dtype"],
                in_splits=bool(self._options["validation"]),
            )
            return self._finish(records, files)

    def _lay_out(self, tables: Sequence[DocumentTable]) -> list[NewShard]:
        """Decide which rows go into which shard, and tell those who watch how much there is."""
        shards, shift = [], 0
        for manifest, table in zip(self._manifests, tables, strict=True):
            shards += [(shard, shift) for shard in stored_shards(manifest)]
            shift += len(table)
        with stage("pack"):
            laid_out = lay_out(shards, self._facts["shard_tokens"])
            if self._facts["shard_tokens"] is not None:
                laid_out = count_documents(laid_out, shift)
        self._meter.total_bytes = sum(take.bytes for new in laid_out for take in new.takes)
        self._meter.total_tokens = sum(manifest.tokens["out"] for manifest in self._manifests)
        self._meter.total_shards = len(laid_out)
        return laid_out

    def _write_shards(self, shards: Sequence[NewShard]) -> list[ShardRecord]:
        table = DocumentTable(self._work.output / DOCUMENTS)
        data = self._manifests[0].data
        rewriting = Rewriting(
            work=self._work,
            formats=tuple(self._options["formats"]),
            dtype=data["dtype"],
            context_length=data["context_length"],
            pad_id=data["pad_id"],
            max_id=self._options["max_id"],
            padded=is_padded(self._options),
            in_splits=bool(self._options["validation"]),
            extras=Extras(
                tokenizer=data["tokenizer"]["name"],
                places=lambda numbers: (
                    (f"{place.file}:{place.line}", place.file, place.line)
                    for place in table.places(numbers)
                ),
                # Rows are cut by their number here, and by `concat`; other ways cut documents.
                single_rows=(
                    self._facts["shard_tokens"] is not None or self._options["pack"] == "concat"
                )
                and has_room_for_one(self._options["shard_tokens"], data["context_length"]),
            ),
            meter=self._meter,
        )
        with ThreadPoolExecutor(self._workers) as pool:
            tasks = [pool.submit(rewriting.make, run) for run in rewriting.runs(shards)]
            try:
                return [record for task in tasks for record in task.result()]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _books(self, records: Sequence[ShardRecord]) -> Books:
        """Add up the accounts of the outputs, and count what was written."""
        books = Books()
        for manifest in self._manifests:
            documents, tokens = manifest.documents, manifest.tokens
            books.documents_in += documents["in"]
            books.skipped.update(documents["skipped"])
            books.replaced.update(documents["replaced"])
            books.blank_lines += documents["blank_lines"]
            books.tokens_in += tokens["in"]
            books.repeated += tokens["repeated"]
            books.dropped += tokens["dropped"]
        books.write_out(records, self._options["formats"][0])
        books.check()
        rows = sum(shard.rows for m in self._manifests for shard in stored_shards(m))
        if rows != sum(record.rows for record in records):
            raise BooksDiffer(f"rows: {rows} in, {sum(r.rows for r in records)} out")
        return books

    def _finish(self, records: Sequence[ShardRecord], files: Sequence[FileRecord]) -> Manifest:
        first = self._manifests[0].data
        kept = ("context_length", "dtype", "pad_id")
        data = {
            "schema": SCHEMA,
            "tokenmill": __version__,
            "plan_id": plan_id(self._facts),
            "tokenizer": self._facts["tokenizer"],
            "tokenizer_source": first.get("tokenizer_source"),
            "made_from": [shown(manifest.folder) for manifest in self._manifests],
            **{key: first[key] for key in kept},
            "eos_id": self._options["eos_id"],
            "bos_id": self._options["bos_id"],
            **self._books(records).as_json(),
            "shards": [
                entry
                for name in self._options["formats"]
                for entry in manifest_entries(records, name)
            ],
            "files": file_entries(files),
            "options": self._options,
            "plan": self._facts,
        }
        write_json(self._work.manifest, data)
        self._work.finish()
        return Manifest(self._work.output, data)

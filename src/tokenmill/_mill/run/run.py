"""A run: plan, tokenize, order, pack, and the manifest last. Every step can be repeated."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tokenmill import _core
from tokenmill._errors import BadRecordFound, TooManyBadRecords
from tokenmill._mill.meter import PACK, Meter
from tokenmill._mill.output.books import Books, Budget
from tokenmill._mill.output.kept_ids import KeptIds, usable_parts
from tokenmill._mill.output.parts import Part, PartRecord
from tokenmill._mill.output.shard_records import (
    ShardRecord,
    finish_formats,
    has_room_for_one,
)
from tokenmill._mill.output.tables import LineBases, write_documents, write_quarantine
from tokenmill._mill.output.work import DOCUMENTS, PLAN, QUARANTINE, Work, as_deliveries
from tokenmill._mill.plan.plan import refuse_another_plan
from tokenmill._mill.run.deal import SPLITS, TRAIN, DealRules, deal
from tokenmill._mill.run.early import Early, EarlyShards, EarlyTable
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._mill.run.encode_at_once import AtOnce
from tokenmill._mill.run.manifest_data import manifest_data
from tokenmill._mill.run.no_documents import refuse_no_documents
from tokenmill._mill.run.order import Ordered, plan_order
from tokenmill._mill.run.prefix import Prefix
from tokenmill._mill.run.shards import Sharding
from tokenmill._mill.run.tokenize import Tokenizing, finished_parts, unfinished_streams
from tokenmill._read import open_stream
from tokenmill._timeline import AWAY, stage
from tokenmill._write import Extras, find_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tokenmill._files import FileRecord
    from tokenmill._mill.device.block_device import BlockDevice
    from tokenmill._mill.output.manifest import Manifest
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.run.read_ahead import ReadAhead
    from tokenmill._mill.run.tokenize import NextStream
    from tokenmill._read import Place, StreamReader
    from tokenmill._tokenizer import Tokenizer

# Freed buffers of each kind that are kept for every worker: of a block, its text and its ids.
SPARES = 3


class ShardToCome(Protocol):
    """A shard that is being made."""

    def result(self) -> ShardRecord:
        """Wait for it, and return its record."""


@dataclass
class Run:
    """One run of a plan; an earlier one may have done some of the work."""

    plan: Plan
    tokenizer: Tokenizer
    work: Work
    workers: int
    budget: Budget
    meter: Meter
    books: Books = field(default_factory=Books)
    tokenizer_source: str | None = None
    device: BlockDevice | None = None  # encodes instead of the tokenizer
    ahead: ReadAhead | None = None
    keep_bytes: int = 0  # of ids that may wait in memory for their shards

    def __post_init__(self) -> None:
        self._work = self.work
        self._settings = self.plan.settings
        self._prefix = Prefix(self.plan)
        self._kept: KeptIds | None = None
        self._early = self._make_early()

    @property
    def output(self) -> Path:
        """The folder in which files are made."""
        return self._work.output

    def finished(self) -> Manifest | None:
        """Return the manifest if an earlier run has finished this plan; refuse another plan."""
        if self._work.is_finished():
            manifest = self._work.read_manifest()
            refuse_another_plan(manifest.data["plan"], self.plan.facts, self._work.where)
            self._work.finish()
            return manifest
        there = self._work.read_record(PLAN)
        if there is not None:
            refuse_another_plan(there, self.plan.facts, self._work.where)
        return None

    def start(self) -> None:
        """Remove unfinished files, and write the plan."""
        with self.meter.worker():
            self._work.refuse_strangers(self._settings.formats)
            self._work.sweep(self._settings.formats)
            if not all(stream.resumable for stream in self.plan.streams):
                self._work.clear()  # the input may have changed
            self._work.create_record(PLAN, self.plan.facts)

    def execute(self) -> Manifest:
        """Do everything that is missing, and return the manifest."""
        with self.meter.worker():  # what this thread does besides its workers
            waiting = 0 if self._kept is None else self.keep_bytes // self.plan.rules.block_bytes
            _core.keep_spares(_core.USUAL_SPARES + SPARES * self.workers + waiting)
            self._early.table.start()
            try:
                return self._execute()
            finally:
                self._early.table.give_up()
                # Much memory is freed, which takes a moment, and nobody need wait for it.
                threading.Thread(target=_core.keep_spares, args=(_core.USUAL_SPARES,)).start()

    def _execute(self) -> Manifest:
        try:
            parts = self._tokenize()
            self._check_budget(final=True)
        except TooManyBadRecords:
            self._show_quarantine()
            raise
        try:
            refuse_no_documents(parts, self.plan, LineBases(parts, self.plan.streams))
        except BadRecordFound:
            self._work.clear()  # nothing to keep, and the next try will have another plan
            raise
        self.books.enter(part.record for part in parts)
        shards, files = self._pack(parts)
        self.books.check()
        return self._finish(shards, files)

    def _show_quarantine(self) -> None:
        """Write the quarantine so far: it shows why the run was stopped."""
        self._write_quarantine([self._part(record) for record in self._prefix.taken])
        self._work.settle()

    def _tokenize(self) -> list[Part]:
        done = self._finished_parts()
        for records in done.values():
            for record in records:
                self._prefix.add(record)
                self.meter.add(
                    input_bytes=record.input_bytes,
                    resumed_bytes=record.input_bytes,
                    documents=record.documents,
                    resumed_documents=record.documents,
                    tokens=record.tokens,
                    resumed_tokens=record.tokens,
                )
                self.meter.add_bad(record.bad)
        if not self._prefix.is_enough:
            left = unfinished_streams(len(self.plan.streams), done)
            self._tokenize_all(lambda: next(left, None))
        self._early.follow()
        return [self._part(record) for record in self._prefix.taken]

    def _finished_parts(self) -> dict[int, list[PartRecord]]:
        done = finished_parts(self._work.parts, self._settings.dtype)
        if all(record.has_ids for records in done.values() for record in records):
            return done
        return usable_parts(done, self._sharding(TRAIN, Ordered([]), [], None).is_covered)

    def _tokenize_all(self, next_stream: NextStream) -> None:
        with stage(AWAY):
            self._tokenizing(next_stream).run(self.workers)

    def _tokenizing(self, next_stream: NextStream) -> Tokenizing:
        plan, encoder = self.plan, self._encoder()
        return Tokenizing(
            self._work.parts,
            next_stream=next_stream,
            open_stream=self._open_stream,
            encode=lambda taken, n: encoder.encode_taken(taken, plan.streams[n]),
            committed=self._committed,
            other_work=self._early.follow,
            meter=self.meter,
            in_order=self._prefix.has_limits,
            kept=self._kept,
            lend_memory=nullcontext if self.device is None else self.device.lent_memory,
        )

    def _part(self, record: PartRecord) -> Part:
        return Part(self._work.parts, record, self._settings.dtype)

    def _make_early(self) -> Early:
        plan, s = self.plan, self._settings
        bases = LineBases((), plan.streams)
        table = EarlyTable(lambda parts: self._write_documents(parts, bases))
        # Limits are applied to the whole, and some formats store places, which are known last.
        is_simple = self._deal_rules().keeps_the_plan and not self._prefix.has_limits
        shards = None
        if (
            is_simple
            and s.max_sequences is None
            and not any(find_format(name).stores_places for name in s.formats)
        ):
            self._kept = KeptIds(self.keep_bytes) if self.keep_bytes else None
            sharding = self._sharding(TRAIN, Ordered([]), [], None)
            shards = EarlyShards(sharding, self.meter, self._kept)
        return Early(self._prefix, self._part, table, shards)

    def _open_stream(self, number: int, place: Place | None) -> StreamReader:
        plan = self.plan
        if self.ahead is not None:
            self.ahead.note(number)
        return open_stream(plan.streams[number], plan.files, plan.rules, plan.fields, place)

    def _encoder(self) -> BlockEncoder:
        plan = self.plan
        at_once = AtOnce.of(self.tokenizer, plan.settings, plan.rules, plan.fields)
        return BlockEncoder(
            self.tokenizer,
            plan.settings,
            plan.rules,
            plan.files,
            plan.fields,
            self.meter,
            self.device,
            self.workers,
            at_once,
        )

    def _committed(self, record: PartRecord) -> bool:
        self._prefix.add(record)
        self._check_budget(final=False)
        return self._prefix.is_enough

    def _check_budget(self, *, final: bool) -> None:
        """Check a share at the end, or earlier if the run is about to exceed it twice over."""
        prefix = self._prefix
        records = prefix.records
        if not final and self.budget.share is not None:
            total = self.plan.total_bytes / max(prefix.input_bytes, 1)
            records = 2 * int(records * max(1.0, total))
        self.budget.check(prefix.bad, records)

    def _pack(self, parts: list[Part]) -> tuple[list[ShardRecord], list[FileRecord]]:
        with stage("pack"):
            shardings = self._shardings(parts)
        self.meter.phase = PACK
        self.meter.total_shards = sum(sharding.count for sharding in shardings)
        self.meter.total_tokens = sum(sharding.tokens for sharding in shardings)
        with stage(AWAY), ThreadPoolExecutor(self.workers) as pool:
            quarantine = pool.submit(self._write_quarantine_as_worker, parts)
            shards = self._begin_shards(pool, parts, shardings)
            try:
                records = [task.result() for task in shards]
                files = [quarantine.result()]
                with stage("wait_output"):  # all workers have ended
                    files.append(self._early.table.finish())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        for sharding in shardings:
            mine = [record for record in records if record.split == sharding.split]
            self._count_out(sharding, mine)
        with stage("write"):
            files += self._finish_formats(records)
        return records, files

    def _begin_shards(
        self, pool: ThreadPoolExecutor, parts: list[Part], shardings: list[Sharding]
    ) -> Sequence[ShardToCome]:
        del parts  # for those who make shards elsewhere
        return [
            pool.submit(self._shard, sharding, number)
            for sharding in shardings
            for number in range(sharding.count)
        ]

    def _finish_formats(self, shards: Sequence[ShardRecord]) -> list[FileRecord]:
        s = self._settings
        files = finish_formats(
            self.output, s.formats, shards, s.dtype, in_splits=bool(s.validation)
        )
        self._work.deliver(as_deliveries(files))
        return files

    def _shard(self, sharding: Sharding, number: int) -> ShardRecord:
        early = self._early.records.get(number) if sharding.split == TRAIN else None
        if early is not None:
            return early  # and counted
        record = self._record(sharding, number)
        self.meter.add(shards=1)
        return record

    def _record(self, sharding: Sharding, number: int) -> ShardRecord:
        """Return the record of a shard, which is made if it is not there."""
        with self.meter.worker():
            return sharding.record_of(number) or sharding.make(number, self.meter)

    def _shardings(self, parts: list[Part]) -> list[Sharding]:
        settings = self._settings
        rules = self._deal_rules()
        if rules.keeps_the_plan:
            runs: dict[str, Any] = {TRAIN: plan_order(parts)}
        else:
            dealt = deal(parts, rules, self._work.order)
            runs = dealt.runs
            self.books.leave_out(dealt.skipped, dealt.skipped_tokens)
        shardings = []
        for split in SPLITS if settings.validation else (TRAIN,):
            whole = Ordered(runs[split])
            limit = settings.max_tokens if split == TRAIN else None
            ordered = Ordered(runs[split], limit)
            gone = whole.documents - ordered.documents
            self.books.leave_out({"max_tokens": gone}, whole.tokens - ordered.tokens)
            shardings.append(self._sharding(split, ordered, parts, self._places(parts)))
        return shardings

    def _sharding(self, split: str, ordered: Ordered, parts: list[Part], places: Any) -> Sharding:
        settings = self._settings
        single_rows = settings.pack == "concat" and has_room_for_one(
            settings.shard_tokens, settings.context_length
        )
        return Sharding(
            settings,
            split,
            ordered,
            parts,
            work=self._work,
            extras=Extras(self.tokenizer.name, places, single_rows),
            kept=self._kept,
        )

    def _deal_rules(self) -> DealRules:
        settings, sources = self._settings, self.plan.sources
        return DealRules(
            seed=settings.seed if settings.shuffle == "docs" else None,
            validation=settings.validation,
            weights=tuple(source.weight for source in sources),
            caps=tuple(source.max_tokens for source in sources),
            source_of_file=tuple(file.source for file in self.plan.files),
            limit_documents=settings.limit_documents,
        )

    def _write_quarantine_as_worker(self, parts: list[Part]) -> FileRecord:
        with self.meter.worker(), stage("write"):
            return self._write_quarantine(parts)

    def _write_quarantine(self, parts: list[Part]) -> FileRecord:
        record = self._make_quarantine(parts)
        self._work.deliver(as_deliveries([record]))
        return record

    def _make_quarantine(self, parts: list[Part]) -> FileRecord:
        bases = LineBases(parts, self.plan.streams)
        aside = frozenset(r for r, policy in self._settings.policies if policy == "quarantine")
        return write_quarantine(self.output / QUARANTINE, parts, self.plan.files, bases, aside)

    def _write_documents(self, parts: Iterable[Part], bases: LineBases) -> FileRecord:
        record = write_documents(self.output / DOCUMENTS, parts, self.plan.files, bases)
        self._work.deliver(as_deliveries([record]))
        return record

    def _places(self, parts: Sequence[Part]) -> Any:
        from tokenmill._mill.output.places import Places  # only one format needs it

        return Places(parts, self.plan.files, LineBases(parts, self.plan.streams))

    def _count_out(self, sharding: Sharding, records: Sequence[ShardRecord]) -> None:
        self.books.write_out(records, self._settings.formats[0])
        documents, tokens = sharding.left_out(records)
        self.books.leave_out({sharding.reason_left_out: documents}, tokens)

    def _finish(self, shards: Sequence[ShardRecord], files: Sequence[FileRecord]) -> Manifest:
        manifest = self._write_manifest(shards, files)
        with stage("write"):
            self._work.finish()
        return manifest

    def _write_manifest(
        self, shards: Sequence[ShardRecord], files: Sequence[FileRecord]
    ) -> Manifest:
        data = manifest_data(self.plan, self.books, shards, files, self.tokenizer_source)
        with stage("wait_output"):
            self._work.settle()
        with stage("write"):
            return self._work.write_manifest(data)

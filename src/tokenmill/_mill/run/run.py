"""A run: plan, tokenize, order, pack, and the manifest last. Every step can be repeated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenmill import __version__, _core
from tokenmill._errors import BadRecordFound, TooManyBadRecords
from tokenmill._mill.output.books import Books, Budget
from tokenmill._mill.output.manifest import SCHEMA, Manifest
from tokenmill._mill.output.parts import Part, PartRecord
from tokenmill._mill.output.shard_records import (
    ShardRecord,
    file_entries,
    finish_formats,
    has_room_for_one,
    manifest_entries,
)
from tokenmill._mill.output.tables import LineBases, write_documents, write_quarantine
from tokenmill._mill.output.work import DOCUMENTS, QUARANTINE, Work, read_json, write_json
from tokenmill._mill.plan.plan import refuse_another_plan
from tokenmill._mill.run.deal import SPLITS, TRAIN, DealRules, deal
from tokenmill._mill.run.early import Early, EarlyShards, EarlyTable
from tokenmill._mill.run.encode import BlockEncoder
from tokenmill._mill.run.encode_at_once import AtOnce
from tokenmill._mill.run.no_documents import refuse_no_documents
from tokenmill._mill.run.order import Ordered, plan_order
from tokenmill._mill.run.prefix import Prefix
from tokenmill._mill.run.shards import Sharding
from tokenmill._mill.run.tokenize import Tokenizing, finished_parts
from tokenmill._read import open_stream
from tokenmill._write import Extras, find_format

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokenmill._files import FileRecord
    from tokenmill._mill.device.block_device import BlockDevice
    from tokenmill._mill.meter import Meter
    from tokenmill._mill.plan.plan import Plan
    from tokenmill._mill.run.read_ahead import ReadAhead
    from tokenmill._read import Place, StreamReader
    from tokenmill._tokenizer import Tokenizer

# Freed buffers of each kind that are kept for every worker: of a block, its text and its ids.
_SPARES = 3


@dataclass
class Run:
    """One run of a plan; an earlier one may have done some of the work."""

    plan: Plan
    tokenizer: Tokenizer
    output: Path
    workers: int
    budget: Budget
    meter: Meter
    books: Books = field(default_factory=Books)
    tokenizer_source: str | None = None
    device: BlockDevice | None = None  # encodes instead of the tokenizer
    ahead: ReadAhead | None = None

    def __post_init__(self) -> None:
        self._work = Work(self.output)
        self._settings = self.plan.settings
        self._prefix = Prefix(self.plan)
        self._early = self._make_early()

    def finished(self) -> Manifest | None:
        """Return the manifest if an earlier run has finished this plan; refuse another plan."""
        if self._work.manifest.exists():
            manifest = Manifest.load(self.output)
            refuse_another_plan(manifest.data["plan"], self.plan.facts, str(self.output))
            self._work.finish()
            return manifest
        if self._work.plan.exists():
            refuse_another_plan(read_json(self._work.plan), self.plan.facts, str(self.output))
        return None

    def start(self) -> None:
        """Remove unfinished files, and write the plan."""
        self._work.refuse_strangers(self._settings.formats)
        self._work.sweep(self._settings.formats)
        if not all(stream.resumable for stream in self.plan.streams):
            self._work.clear()  # the input may have changed
        if not self._work.plan.exists():
            write_json(self._work.plan, self.plan.facts)

    def execute(self) -> Manifest:
        """Do everything that is missing, and return the manifest."""
        _core.keep_spares(_core.USUAL_SPARES + _SPARES * self.workers)
        self._early.table.start()
        try:
            return self._execute()
        finally:
            self._early.table.give_up()
            _core.keep_spares(_core.USUAL_SPARES)

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

    def _tokenize(self) -> list[Part]:
        done = finished_parts(self._work.parts, self._settings.dtype)
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
                    bad=sum(record.bad.values()),
                )
        plan, encoder = self.plan, self._encoder()
        if not self._prefix.is_enough:
            tokenizing = Tokenizing(
                self._work.parts,
                streams=len(plan.streams),
                done=done,
                open_stream=self._open_stream,
                encode=lambda taken, n: encoder.encode_taken(taken, plan.streams[n]),
                committed=self._committed,
                other_work=self._early.follow,
                meter=self.meter,
                in_order=self._prefix.has_limits,
            )
            tokenizing.run(self.workers)
        self._early.follow()
        return [self._part(record) for record in self._prefix.taken]

    def _part(self, record: PartRecord) -> Part:
        return Part(self._work.parts, record, self._settings.dtype)

    def _make_early(self) -> Early:
        plan, s = self.plan, self._settings
        bases = LineBases((), plan.streams)
        table = EarlyTable(
            lambda parts: write_documents(self.output / DOCUMENTS, parts, plan.files, bases)
        )
        # Limits are applied to the whole, and some formats store places, which are known last.
        is_simple = self._deal_rules().keeps_the_plan and not self._prefix.has_limits
        shards = None
        if (
            is_simple
            and s.max_sequences is None
            and not any(find_format(name).stores_places for name in s.formats)
        ):
            shards = EarlyShards(self._sharding(TRAIN, Ordered([]), [], None), self.meter)
        return Early(self._prefix, self._part, table, shards)

    def _open_stream(self, number: int, place: Place | None) -> StreamReader:
        plan = self.plan
        if self.ahead is not None:
            self.ahead.note(number)
        return open_stream(plan.streams[number], plan.files, plan.rules, plan.fields, place)

    def _encoder(self) -> BlockEncoder:
        plan = self.plan
        at_once = None
        if self.device is None:
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
        shardings = self._shardings(parts)
        self.meter.phase = "pack"
        self.meter.total_shards = sum(sharding.count for sharding in shardings)
        self.meter.total_tokens = sum(sharding.tokens for sharding in shardings)
        with ThreadPoolExecutor(self.workers) as pool:
            quarantine = pool.submit(self._write_quarantine, parts)
            shards = [
                pool.submit(self._shard, sharding, number)
                for sharding in shardings
                for number in range(sharding.count)
            ]
            try:
                records = [task.result() for task in shards]
                files = [quarantine.result(), self._early.table.finish()]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        for sharding in shardings:
            mine = [record for record in records if record.split == sharding.split]
            self._count_out(sharding, mine)
        s = self._settings
        files += finish_formats(
            self.output, s.formats, records, s.dtype, in_splits=bool(s.validation)
        )
        return records, files

    def _shard(self, sharding: Sharding, number: int) -> ShardRecord:
        record = self._early.records.get(number) if sharding.split == TRAIN else None
        record = record or sharding.record_of(number) or sharding.make(number, self.meter)
        self.meter.add(shards=1)
        return record

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
            output=self.output,
            records=self._work.shards,
            extras=Extras(self.tokenizer.name, places, single_rows),
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

    def _write_quarantine(self, parts: list[Part]) -> FileRecord:
        bases = LineBases(parts, self.plan.streams)
        aside = frozenset(r for r, policy in self._settings.policies if policy == "quarantine")
        return write_quarantine(self.output / QUARANTINE, parts, self.plan.files, bases, aside)

    def _places(self, parts: Sequence[Part]) -> Any:
        from tokenmill._mill.output.places import Places  # only one format needs it

        return Places(parts, self.plan.files, LineBases(parts, self.plan.streams))

    def _count_out(self, sharding: Sharding, records: Sequence[ShardRecord]) -> None:
        self.books.write_out(records, self._settings.formats[0])
        documents, tokens = sharding.left_out(records)
        self.books.leave_out({sharding.reason_left_out: documents}, tokens)

    def _finish(self, shards: Sequence[ShardRecord], files: Sequence[FileRecord]) -> Manifest:
        settings = self._settings
        data = {
            "schema": SCHEMA,
            "tokenmill": __version__,
            "plan_id": self.plan.id,
            "tokenizer": self.plan.facts["tokenizer"],
            "tokenizer_source": self.tokenizer_source,
            "context_length": settings.context_length,
            "dtype": settings.dtype,
            "eos_id": settings.eos_id,
            "bos_id": settings.bos_id,
            "pad_id": settings.pad_id,
            **self.books.as_json(),
            "shards": [
                entry for name in settings.formats for entry in manifest_entries(shards, name)
            ],
            "files": file_entries(files),
            "options": self.plan.facts["options"],
            "plan": self.plan.facts,
        }
        write_json(self._work.manifest, data)
        self._work.finish()
        return Manifest(self.output, data)

"""`report`: everything worth knowing about a packed corpus, counted from its own files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenmill._calls.options import thread_count
from tokenmill._errors import OptionError
from tokenmill._mill.inspect import RowFinder
from tokenmill._mill.output.document_table import DocumentTable
from tokenmill._mill.output.manifest import Manifest
from tokenmill._mill.output.stored import stored_shards
from tokenmill._mill.output.tokenizer_of import tokenizer_of
from tokenmill._mill.output.work import DOCUMENTS
from tokenmill._mill.report.duplicates import Duplicates
from tokenmill._mill.report.field_values import FieldValues
from tokenmill._mill.report.groups import CorpusFile, Grouper, Grouping, source_files
from tokenmill._mill.report.languages import LanguageRule
from tokenmill._mill.report.per_document import slices
from tokenmill._mill.report.samples import copy_facts, quarantine_facts, sample_rows
from tokenmill._mill.report.scan import DocumentSums, RowScan, ScanTotals
from tokenmill._mill.report.vocabulary import token_lengths, vocabulary_facts
from tokenmill._mirror import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from tokenmill._mill.output.stored import StoredShard
    from tokenmill._tokenizer import Tokenizer

_MOST_ROWS_SHOWN = 200  # of the tables by source, file and language


@dataclass(frozen=True)
class CorpusReport:
    """What `report` returns: `facts` are plain values, `as_html` is the page."""

    facts: dict[str, Any]

    def as_html(self) -> str:
        """Return one page that needs nothing from elsewhere and runs no script."""
        from tokenmill._mill.report.page import report_page

        return report_page(self.facts)


def report(
    output: str | os.PathLike[str],
    *,
    tokenizer: object = None,
    sample: float | str | None = None,
    language: str = "auto",
    rows: int = 6,
    workers: int | None = None,
    note: Callable[[int, int], None] = lambda _done, _of: None,
) -> CorpusReport:
    """Count what a finished output holds, without changing it.

    `sample` scans only a share of the rows (0.01 or "1%"); copies of documents are then not
    counted. `language` is "auto" (names of files), "none", "field=NAME" (reads the inputs again) or
    "path=REGEX". `rows` are shown decoded. `note` gets the rows that were scanned, and of how many.
    """
    share = read_share(sample)
    rule = LanguageRule.read(language)
    manifest = Manifest.load(output)
    return _Reporter(manifest, tokenizer_of(manifest, tokenizer), share, rule).run(
        rows, thread_count(workers, "workers"), note
    )


def read_share(sample: float | str | None) -> float:
    """Read a share of rows: None is all of them."""
    if sample is None:
        return 1.0
    text = str(sample).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise OptionError(f"expected a share such as 0.01 or 1%, got {sample!r}", where="sample")
    return share


class _Reporter:
    """Gathers the facts of one output."""

    def __init__(
        self, manifest: Manifest, tokenizer: Tokenizer, share: float, rule: LanguageRule
    ) -> None:
        self._manifest = manifest
        self._tokenizer = tokenizer
        self._share = share
        self._rule = rule
        self._shards = stored_shards(manifest)
        self._files = source_files(manifest.data["plan"])

    def run(self, rows: int, workers: int, note: Callable[[int, int], None]) -> CorpusReport:
        manifest = self._manifest
        grouping = self._grouping()
        sums = DocumentSums(len(grouping.of)) if self._share >= 1 else None
        totals = self._scan(grouping, sums, workers, note)
        cut, duplicates = None, None
        if sums is not None:
            cut = _cut_facts(grouping, sums)
            duplicates = _duplicates(grouping, sums)
        finder = RowFinder(manifest, self._tokenizer)
        by_split = _rows_by_split(self._shards)
        facts = {
            **self._heading(),
            "scan": self._scan_facts(totals, by_split),
            "sources": self._table("source", grouping, totals, duplicates),
            "files": self._table("file", grouping, totals, duplicates),
            "languages": self._languages(grouping, totals, duplicates),
            "lengths": {
                **grouping.lengths.facts(list(range(len(grouping.keys)))),
                "histogram": grouping.lengths.histogram(),
            },
            "rows": self._row_facts(totals, by_split),
            "cut": cut,
            "duplicates": None
            if duplicates is None
            else {
                "compared": duplicates.compared,
                "copies": duplicates.copies,
                "copied_tokens": duplicates.tokens,
                "texts": duplicates.texts,
                "largest": copy_facts(finder, duplicates.largest),
            },
            "quarantine": quarantine_facts(manifest),
            "vocabulary": vocabulary_facts(self._tokenizer, totals.counts),
            "samples": sample_rows(finder, by_split, rows),
        }
        return CorpusReport(facts)

    def _grouping(self) -> Grouping:
        values = None
        if self._rule.kind == "field":
            values = FieldValues(self._files, self._rule.value, self._manifest.options)
        table = DocumentTable(self._manifest.folder / DOCUMENTS)
        return Grouper(self._files, self._rule, values).run(table)

    def _scan(
        self,
        grouping: Grouping,
        sums: DocumentSums | None,
        workers: int,
        note: Callable[[int, int], None],
    ) -> ScanTotals:
        size = max(self._tokenizer.vocab_size, int(self._manifest.options["max_id"]) + 1)
        scan = RowScan(
            grouping.of,
            len(grouping.keys),
            token_lengths(self._tokenizer, size),
            self._manifest.options.get("overlap") or 0,
            self._share,
            sums,
        )
        wanted, done = sum(shard.rows for shard in self._shards) * self._share, 0

        def count(rows: int) -> None:
            nonlocal done
            done += rows
            note(done, round(wanted))

        return scan.run(self._shards, workers, count)

    def _heading(self) -> dict[str, Any]:
        manifest = self._manifest
        sizes: dict[str, dict[str, int]] = {}
        for shard in manifest.shards:
            of = sizes.setdefault(shard["format"], {"shards": 0, "bytes": 0})
            of["shards"] += 1
            of["bytes"] += sum(file["bytes"] for file in shard["files"])
        return {
            "output": shown(manifest.folder),
            "plan_id": manifest.plan_id,
            "tokenizer": {
                **manifest.data["tokenizer"],
                "vocab_size": self._tokenizer.vocab_size,
            },
            "packing": manifest.options["pack"],
            "context_length": manifest.data["context_length"],
            "dtype": manifest.data["dtype"],
            "formats": sizes,
            "documents": manifest.documents,
            "tokens": manifest.tokens,
        }

    def _scan_facts(self, totals: ScanTotals, by_split: dict[str, int]) -> dict[str, Any]:
        tokens, text = int(totals.tokens.sum()), int(totals.text_bytes.sum())
        return {
            "rows": totals.rows,
            "of_rows": sum(by_split.values()),
            "is_sample": self._share < 1,
            "tokens": tokens,
            "text_bytes": text,
            "tokens_per_byte": tokens / text if text else None,
        }

    def _row_facts(self, totals: ScanTotals, by_split: dict[str, int]) -> dict[str, Any]:
        books = self._manifest.tokens
        return {
            "by_split": by_split,
            "padding_share": books["padding"] / books["out"] if books["out"] else 0.0,
            "pieces_per_row": totals.documents_in_rows / totals.rows if totals.rows else 0.0,
        }

    def _languages(
        self, grouping: Grouping, totals: ScanTotals, duplicates: Duplicates | None
    ) -> dict[str, Any]:
        how = (
            "" if self._rule.kind == "none" else self._rule.in_words([f.path for f in self._files])
        )
        groups = self._table("language", grouping, totals, duplicates) if how else []
        return {"how": how, "groups": groups}

    def _table(
        self, name: str, grouping: Grouping, totals: ScanTotals, duplicates: Duplicates | None
    ) -> list[dict[str, Any]]:
        """Return the documents by source, file or language, the most tokens first."""
        found = []
        for value, groups in grouping.groups(name).items():
            lengths = grouping.lengths.facts(groups)
            tokens = int(totals.tokens[groups].sum())
            text = int(totals.text_bytes[groups].sum())
            copies = None if duplicates is None else int(duplicates.by_group[groups].sum())
            found.append(
                {
                    "name": value,
                    **lengths,
                    "tokens_in_rows": tokens,
                    "text_bytes": text,
                    "tokens_per_byte": tokens / text if text else None,
                    "input_bytes": _input_bytes(self._files, name, value),
                    "copies": copies,
                }
            )
        found.sort(key=lambda row: -row["tokens"])
        return found[:_MOST_ROWS_SHOWN]


def _rows_by_split(shards: list[StoredShard]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for shard in shards:
        rows[shard.split] = rows.get(shard.split, 0) + shard.rows
    return rows


def _input_bytes(files: list[CorpusFile], name: str, value: str) -> int | None:
    """Return the size of input files as stored; None where a group is not a set of files."""
    if name == "language":
        return None
    sizes = [
        file.size for file in files if (file.source if name == "source" else file.path) == value
    ]
    return sum(sizes) if sizes and min(sizes) >= 0 else None


def _cut_facts(grouping: Grouping, sums: DocumentSums) -> dict[str, int]:
    """Return how many documents are whole in the rows, and what the others lack."""
    counts = Counter({"whole": 0, "cut": 0, "left_out": 0, "tokens_missing": 0})
    for some in slices(len(grouping.of)):
        stored = sums.stored[some]
        missing = grouping.tokens[some] - stored
        counts["whole"] += int((missing == 0).sum())
        counts["cut"] += int(((missing > 0) & (stored > 0)).sum())
        counts["left_out"] += int((stored == 0).sum())
        counts["tokens_missing"] += int(missing.sum())
    return dict(counts)


def _duplicates(grouping: Grouping, sums: DocumentSums) -> Duplicates:
    """Count copies among the documents that are whole in the rows."""
    for some in slices(len(grouping.of)):
        sums.stored[some][sums.stored[some] != grouping.tokens[some]] = 0
    duplicates = Duplicates(len(grouping.keys))
    duplicates.count(sums.hashes, sums.stored, grouping.of)
    return duplicates

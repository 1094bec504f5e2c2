"""The mill, slow and obvious: every document in memory, every token a pair (document, place)."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import xxhash
from tests.reference import packing
from tests.reference.jsonl import read_line

from tokenmill._read import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.reference.packing import Row

    from tokenmill import Tokenizer


@dataclass(frozen=True)
class Document:
    """A text and its place; `number` counts all documents."""

    number: int
    source: int
    file: str
    line: int
    offset: int
    text: bytes
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Bad:
    """A record that is not a document."""

    reason: str
    file: str
    line: int
    offset: int


@dataclass
class Milled:
    """Everything that an output says."""

    documents: list[Document]
    bad: list[Bad]
    rows: dict[str, list[Row]]
    rows_of_shards: dict[str, list[int]]
    skipped: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    blank_lines: int = 0

    def ids(self, row: Row) -> list[int]:
        return [self.documents[number].ids[place] for number, place in row]

    @property
    def documents_out(self) -> int:
        return len({number for rows in self.rows.values() for row in rows for number, _ in row})

    @property
    def tokens(self) -> dict[str, int]:
        """The books without padding: each token is placed once, more often, or dropped."""
        placed = Counter(token for rows in self.rows.values() for row in rows for token in row)
        total = sum(len(document.ids) for document in self.documents)
        return {
            "in": total,
            "repeated": placed.total() - len(placed),
            "dropped": total - len(placed),
        }


@dataclass(frozen=True)
class Wanted:
    """Sources as (files, weight, cap), and the options of `pack`."""

    sources: Sequence[tuple[Sequence[Path], str | None, int | None]]
    tokenizer: Tokenizer
    options: dict[str, Any]

    @property
    def is_mix(self) -> bool:
        return all(weight is not None for _, weight, _ in self.sources)

    def get(self, name: str, otherwise: Any = None) -> Any:
        value = self.options.get(name)
        return otherwise if value is None else value


def mill(wanted: Wanted) -> Milled:
    """Read, number, choose, order and pack."""
    made = Milled([], [], {}, {})
    for source, (files, _, _) in enumerate(wanted.sources):
        for path in sorted(files, key=lambda path: str(path).encode()):
            _read_file(wanted, source, path, made)
    made.skipped.update(bad.reason for bad in made.bad)
    limit = wanted.get("limit_documents", len(made.documents))
    made.skipped["limit_documents"] = max(0, len(made.documents) - limit)
    share = wanted.get("validation", 0.0)
    border = int(share * 2**64)
    for split in ("train", "validation") if share else ("train",):
        mine = [
            document
            for document in made.documents[:limit]
            if (xxhash.xxh3_64_intdigest(document.text) < border) == (split == "validation")
        ]
        _make_split(wanted, split, mine, made)
    made.skipped = +made.skipped  # without zeros
    return made


def _make_split(wanted: Wanted, split: str, mine: list[Document], made: Milled) -> None:
    ordered = _choose(wanted, mine, made.skipped)
    if split == "train" and wanted.get("max_tokens"):
        kept, total = [], 0
        for document in ordered:
            total += len(document.ids)
            if total > wanted.get("max_tokens"):
                break
            kept.append(document)
        made.skipped["max_tokens"] += len(ordered) - len(kept)
        ordered = kept
    shards = _pack(wanted, ordered)
    limit = wanted.get("max_sequences")
    if limit is not None:
        shards = [rows[: max(0, limit - before)] for before, rows in _with_counts(shards)]
    shards = (
        [rows for rows in shards if rows] if wanted.get("pack") == "concat" or limit else shards
    )
    rows = [row for shard in shards for row in shard]
    placed = {number for row in rows for number, _ in row}
    reason = "max_sequences" if limit else "tail" if wanted.get("pack") == "concat" else "no_row"
    made.skipped[reason] += sum(document.number not in placed for document in ordered)
    made.rows[split] = rows
    made.rows_of_shards[split] = [len(shard) for shard in shards]


def _with_counts(shards: list[list[Row]]) -> Iterator[tuple[int, list[Row]]]:
    before = 0
    for rows in shards:
        yield before, rows
        before += len(rows)


def _read_file(wanted: Wanted, source: int, path: Path, made: Milled) -> None:
    records = list(_records(path, wanted.get("text_mode", "file")))
    replace = frozenset(r for r, policy in wanted.get("on_bad", {}).items() if policy == "replace")
    longest = wanted.get("max_document_bytes", 1 << 30)
    text: bytes | None
    reason: str | None
    for line, offset, record in records:
        if isinstance(record, bytes) and len(record) > longest + rules.LINE_SLACK:
            text, reason = None, "too_long"
        elif isinstance(record, bytes):
            found = read_line(record, wanted.get("field", "text"), longest, replace)
            if found is None:
                made.blank_lines += 1
                continue
            text, reason = found.text, found.reason
            made.replaced.update(found.repaired)
        else:
            text, reason = record
            if text == b"":
                text, reason = None, "empty_text"
            elif text is not None and len(text) > longest:
                text, reason = None, "too_long"
        if text is None:
            made.bad.append(Bad(str(reason), str(path), line, offset))
            continue
        ids = _framed(wanted, text)
        if not ids:
            made.bad.append(Bad("no_tokens", str(path), line, offset))
            continue
        number = len(made.documents)
        made.documents.append(Document(number, source, str(path), line, offset, text, ids))


def _records(path: Path, text_mode: str) -> Iterator[tuple[int, int, Any]]:
    """Yield line, offset, and a line of JSON as bytes or else a pair of text and reason."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for number, text in enumerate(pq.read_table(path).column("text").to_pylist(), 1):
            yield number, -1, (None if text is None else text.encode(), "null_field")
        return
    data = _decompressed(path)
    if ".csv" in path.name:
        head, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
        for number, row in enumerate(rows, 1):
            good = len(row) == len(head)
            yield number, -1, (row[head.index("text")].encode() if good else None, "bad_row")
    elif ".txt" in path.name and text_mode == "file":
        yield 1, 0, (data, "")
    else:
        offset = 0
        lines = data.removesuffix(b"\n").split(b"\n") if data else []
        for number, line in enumerate(lines, 1):
            yield number, offset, line
            offset += len(line) + 1


def _decompressed(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        from backports import zstd

        return bytes(zstd.decompress(data))
    return data


def _framed(wanted: Wanted, text: bytes) -> tuple[int, ...]:
    tokenizer = wanted.tokenizer
    mode = wanted.get("special_in_text", "text")
    ids = tokenizer.encode(text.decode(), special_in_text=mode).tolist()
    first = [wanted.get("bos")] if wanted.get("bos") is not None else []
    last = [wanted.get("eos")] if wanted.get("eos") is not None else []
    return (*first, *ids, *last)


def _quotas(wanted: Wanted, mine: list[Document]) -> list[int]:
    """Return the tokens that each source may give: its cap, and its share of the mix."""
    had = []
    for source, (_, _, cap) in enumerate(wanted.sources):
        total = sum(len(d.ids) for d in mine if d.source == source)
        had.append(total if cap is None else min(total, cap))
    if not wanted.is_mix:
        return had
    shares = [Fraction(str(weight)) for _, weight, _ in wanted.sources]
    size = min(Fraction(total) / share for total, share in zip(had, shares, strict=True))
    return [int(share * size) for share in shares]


def _choose(wanted: Wanted, mine: list[Document], skipped: Counter[str]) -> list[Document]:
    """Keep the documents of each source up to the first that its quota does not hold, in order."""
    place: dict[int, tuple[Fraction, int]] = {}  # of kept documents: how far along their source
    for source, quota in enumerate(_quotas(wanted, mine)):
        own = [document for document in mine if document.source == source]
        given = kept = 0
        for document in own:
            if given + len(document.ids) > quota:
                break
            place[document.number] = (Fraction(given, max(quota, 1)), document.number)
            given += len(document.ids)
            kept += 1
        skipped["not_in_the_mix" if wanted.is_mix else "source_cap"] += len(own) - kept
    chosen = [document for document in mine if document.number in place]
    if wanted.get("shuffle") == "docs":
        seed = wanted.get("seed", 0)
        return sorted(chosen, key=lambda d: (_key(d.number, seed), d.number))
    # Every source of a mix is spread evenly: a document is placed by its share of its source.
    return sorted(chosen, key=lambda d: place[d.number]) if wanted.is_mix else chosen


def _key(number: int, seed: int) -> int:
    def mix(value: int) -> int:
        value = (value + 0x9E3779B97F4A7C15) % 2**64
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        return value ^ (value >> 31)

    return mix(mix(mix(seed) ^ number)) >> 2


def _pack(wanted: Wanted, ordered: list[Document]) -> list[list[Row]]:
    """Return the rows of each shard."""
    way = wanted.get("pack", "concat")
    size, shard_tokens = wanted.get("context_length"), wanted.get("shard_tokens")
    if way == "concat":
        drop = wanted.get("tail") == "drop"
        lengths = [len(document.ids) for document in ordered]
        rows = packing.concat(lengths, size, wanted.get("overlap", 0), drop_tail=drop)
        per_shard = max(1, shard_tokens // size)
        groups = [rows[i : i + per_shard] for i in range(0, len(rows), per_shard)]
        return [_numbered(group, ordered) for group in groups]
    shards: list[list[Document]] = []
    begin = 0
    for document in ordered:
        while begin >= len(shards) * shard_tokens:
            shards.append([])
        shards[begin // shard_tokens].append(document)
        begin += len(document.ids)
    while begin > len(shards) * shard_tokens:
        shards.append([])  # the last document reaches beyond its shard's border
    return [_numbered(_pack_shard(wanted, way, size, shard), shard) for shard in shards]


def _pack_shard(wanted: Wanted, way: str, size: int, shard: list[Document]) -> list[Row]:
    lengths = [len(document.ids) for document in shard]
    long = wanted.get("long_documents", "split")
    if way == "bestfit":
        return packing.best_fit(lengths, size, long)
    if way == "bos-bestfit-crop":
        return packing.best_fit_crop(lengths, size, drop_tail=wanted.get("tail") == "drop")
    if way == "pad":
        return packing.cut(lengths, size, long)
    return packing.document_tokens(lengths)


def _numbered(rows: list[Row], documents: list[Document]) -> list[Row]:
    return [[(documents[i].number, place) for i, place in row] for row in rows]

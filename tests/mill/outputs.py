"""Outputs read back: all their bytes, or row by row; and compared with the slow mill."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.reference import packing
from tests.reference.mill import Milled, Wanted, mill

from tokenmill._files import UNFINISHED
from tokenmill._write import FORMATS, read_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.reference.packing import Row

    from tokenmill import Tokenizer
    from tokenmill._mill.output.manifest import Manifest

EOS = 266  # </s> of the small tokenizer
BOS = 265


def digests(output: Path, *, but: Sequence[str] = ()) -> dict[str, str]:
    """Return a hash of every file of an output, except hidden ones."""
    return {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*"))
        if path.is_file() and path.name[0] != "." and path.name not in but
    }


def unfinished_names(output: Path) -> list[str]:
    return [str(path.relative_to(output)) for path in output.rglob("*" + UNFINISHED)]


def wanted(inputs: Sequence[Any], tokenizer: Tokenizer, options: Mapping[str, Any]) -> Wanted:
    """Return the arguments of `pack` for the slow mill."""
    sources: list[tuple[list[Path], str | None, int | None]] = []
    plain = [Path(item) for item in inputs if not isinstance(item, dict)]
    if plain:
        sources.append((plain, None, None))
    for item in inputs:
        if isinstance(item, dict):
            weight = item.get("weight")
            paths = [Path(path) for path in item["paths"]]
            sources.append((paths, None if weight is None else str(weight), item.get("max_tokens")))
    return Wanted(sources, tokenizer, {"eos": EOS, "pack": "concat", **options})


def compare(
    manifest: Manifest, inputs: Sequence[Any], tokenizer: Tokenizer, options: Mapping[str, Any]
) -> Milled:
    """Compare everything in an output with the slow mill."""
    slow = mill(wanted(inputs, tokenizer, options))
    limits = ("limit_documents", "max_tokens", "max_sequences")
    limited = any(options.get(name) is not None for name in limits)
    for split, rows in slow.rows.items():
        compare_split(manifest, split, rows, slow, options)
    assert manifest.documents["out"] == slow.documents_out
    if not limited:  # how much is read beyond a limit is not defined
        compare_books(manifest, slow)
        compare_tables(manifest.folder, slow)
    return slow


def compare_split(
    manifest: Manifest,
    split: str,
    rows: list[Row],
    slow: Milled,
    options: Mapping[str, Any],
) -> None:
    file_split = split if options.get("validation") else ""
    formats = list(manifest.options["formats"])
    mine = [s for s in manifest.shards if s["split"] == split and s["format"] == formats[0]]
    assert [shard["rows"] for shard in mine] == [n for n in slow.rows_of_shards[split] if n]
    first = 0
    for shard in mine:
        some = rows[first : first + shard["rows"]]
        first += shard["rows"]
        index = read_index(manifest.folder / shard["index"])
        assert packing.rows_of(index.pieces) == some
        for name in formats:
            stored = FORMATS[name].read_shard(
                manifest.folder / name,
                shard["number"],
                dtype=manifest.data["dtype"],
                split=file_split,
            )
            flat = np.concatenate([*stored, np.empty(0, np.uint16)]).tolist()
            assert flat == expected_ids(manifest, name, some, slow)
    assert first == len(rows)


def expected_ids(manifest: Manifest, name: str, rows: list[Row], slow: Milled) -> list[int]:
    """Return the rows of a shard as a format stores them."""
    options, form = manifest.options, FORMATS[name]
    always = options["pack"] in ("bestfit", "pad", "bos-bestfit-crop") or options["tail"] == "pad"
    pads = options["pack"] != "none" and (form.fixed_rows or (form.pads and always))
    flat: list[int] = []
    for row in rows:
        ids = slow.ids(row)
        flat += ids
        if pads:
            flat += [manifest.data["pad_id"]] * (options["context_length"] - len(ids))
    return flat


def compare_books(manifest: Manifest, slow: Milled) -> None:
    documents, tokens = manifest.documents, manifest.tokens
    assert documents["in"] == len(slow.documents) + len(slow.bad)
    assert documents["skipped"] == dict(slow.skipped)
    assert documents["replaced"] == dict(slow.replaced)
    assert documents["blank_lines"] == slow.blank_lines
    assert {name: tokens[name] for name in slow.tokens} == slow.tokens
    first = manifest.options["formats"][0]
    assert tokens["out"] == sum(
        len(expected_ids(manifest, first, rows, slow)) for rows in slow.rows.values()
    )
    assert (
        tokens["in"] + tokens["padding"] + tokens["repeated"] == tokens["out"] + tokens["dropped"]
    )


def compare_tables(output: Path, slow: Milled) -> None:
    assert list(document_places(output)) == [
        (d.file, d.line, d.offset, len(d.ids)) for d in slow.documents
    ]
    aside = [(b.reason, b.file, b.line, b.offset) for b in slow.bad if b.reason not in _SKIPPED]
    assert list(quarantined(output)) == aside


_SKIPPED = ("empty_text", "no_tokens")


def document_places(output: Path) -> Iterator[tuple[str, int, int, int]]:
    import pyarrow.parquet as pq

    table = pq.read_table(output / "documents.parquet")
    columns = [table.column(name).to_pylist() for name in ("file", "line", "offset", "tokens")]
    yield from zip(*columns, strict=True)


def quarantined(output: Path) -> Iterator[tuple[str, str, int, int]]:
    for line in (output / "quarantine.jsonl").read_bytes().splitlines():
        value = json.loads(line)
        yield value["reason"], value["file"], value["line"], value["offset"]

"""Rewritten outputs are what `pack` would have written, or a typed error explains why not."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.conftest import small_definition
from tests.mill.finished import (
    TEXTS,
    WAYS,
    change_manifest,
    files_of,
    make,
    no_waiting,
    write_corpus,
)

from tokenmill import (
    CorruptShard,
    DtypeError,
    Manifest,
    OptionError,
    OutputInUse,
    PackedDataset,
    PlanDiffers,
    pack,
    rewrite,
    verify,
)
from tokenmill._cli import main
from tokenmill._mill.output.stored import IdReader, RowReader, stored_shards
from tokenmill._mill.rewrite import shards as rewrite_shards
from tokenmill._write import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PADDED = {"context_length": 48, "tail": "pad", "format": "bin,parquet"}


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with no_waiting():
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "a.jsonl"
    write_corpus(path)
    return path


@pytest.fixture(scope="module")
def padded(corpus: Path, small_json: Path) -> Path:
    """An output that tests only read."""
    folder = corpus.parent / "padded"
    make(corpus, folder, small_json, **PADDED)
    return folder


def rows_of(output: Path) -> list[list[int]]:
    """Return all rows without padding, read by the first format."""
    rows = []
    for shard in stored_shards(Manifest.load(output)):
        reader = RowReader(shard, next(iter(shard.formats)))
        for some in reader.rows(0, shard.rows):
            parts = np.split(some.ids, np.cumsum(some.pieces.row_lengths)[:-1])
            rows += [part.tolist() for part in parts]
    return rows


@pytest.mark.parametrize("form", ["bin", "parquet"])
def test_ids_are_read_from_any_place(form: str, padded: Path) -> None:
    shard = stored_shards(Manifest.load(padded))[0]
    ids, reader = rows_of(padded)[0], IdReader(shard, form)
    whole = reader.read(0, 96).tolist()
    assert whole[:48] == ids
    for begin, end in ((50, 60), (0, 10), (10, 96), (7, 7), (5, 90)):
        assert reader.read(begin, end).tolist() == whole[begin:end]
    count = shard.formats[form]["tokens"]
    assert (reader.beyond(count), reader.beyond(count - 1)) == (False, True)
    with pytest.raises(CorruptShard, match="ends before id"):
        reader.read(count - 1, count + 1)


@pytest.mark.parametrize("way", WAYS)
def test_there_and_back_gives_the_same_bytes(
    way: str, corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    first = make(corpus, tmp_path / "a", small_json, **WAYS[way])
    rewrite(tmp_path / "a", output=tmp_path / "b", format="parquet")
    assert verify(tmp_path / "b").problems == []
    back = rewrite(tmp_path / "b", output=tmp_path / "c", format=first.options["formats"])
    assert files_of(tmp_path / "c") == files_of(tmp_path / "a")
    for key in ("documents", "tokens", "shards", "options", "tokenizer", "dtype", "pad_id"):
        assert back.data[key] == first.data[key], key


@pytest.mark.parametrize("name", FORMATS)
def test_convert_writes_what_pack_writes(
    name: str, padded: Path, corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    packed = make(
        corpus, tmp_path / "packed", small_json, **{**PADDED, "format": name, "pack": "concat"}
    )
    converted = rewrite(padded, output=tmp_path / "converted", format=name)
    assert files_of(tmp_path / "converted") == files_of(tmp_path / "packed")
    assert converted.shards == packed.shards
    assert converted.tokens == packed.tokens
    again = rewrite(tmp_path / "converted", output=tmp_path / "again", format="bin,parquet")
    assert files_of(tmp_path / "again") == files_of(padded)
    assert again.shards == Manifest.load(padded).shards


@pytest.mark.parametrize(
    ("way", "shard_tokens"),
    [("concat", 700), ("concat", 100_000), ("overlap", 1300), ("none", 900), ("none", 100)],
)
def test_reshard_writes_what_pack_writes(
    way: str, shard_tokens: int, corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    options = {**WAYS[way], "format": "bin,mds"}
    make(corpus, tmp_path / "a", small_json, **{**options, "format": "parquet,bin"})
    packed = make(corpus, tmp_path / "b", small_json, **options, shard_tokens=shard_tokens)
    new = rewrite(
        tmp_path / "a", output=tmp_path / "c", format="bin,mds", shard_tokens=shard_tokens
    )
    assert new.options == packed.options
    assert files_of(tmp_path / "c") == files_of(tmp_path / "b")
    assert new.shards == packed.shards


@pytest.mark.parametrize("way", ["bestfit", "crop", "pad"])
def test_reshard_keeps_every_row(way: str, corpus: Path, tmp_path: Path, small_json: Path) -> None:
    before = make(corpus, tmp_path / "a", small_json, **WAYS[way])
    after = rewrite(tmp_path / "a", output=tmp_path / "b", shard_tokens=300)
    assert rows_of(tmp_path / "b") == rows_of(tmp_path / "a")
    assert verify(tmp_path / "b").problems == []
    assert after.documents == before.documents
    assert len(after.shards) > len(before.shards)
    together = rewrite(tmp_path / "b", output=tmp_path / "c", shard_tokens=10**6)
    assert verify(tmp_path / "c").problems == []
    assert all(shard["number"] == 0 for shard in together.shards)


def test_merge_of_documents_is_what_pack_makes_of_both(
    corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    other = tmp_path / "b.jsonl"
    write_corpus(other, TEXTS[::-1])
    options: dict[str, Any] = {"pack": "none", "format": "megatron,olmo"}
    make(corpus, tmp_path / "a", small_json, **options)
    make(other, tmp_path / "b", small_json, **options, shard_tokens=777)
    both = tmp_path / "both"
    packed = pack([corpus, other], output=both, tokenizer=small_json, shard_tokens=1500, **options)
    merged = rewrite([tmp_path / "a", tmp_path / "b"], output=tmp_path / "m", shard_tokens=1500)
    expected, got = files_of(both), files_of(tmp_path / "m")
    tables = [pq.read_table(f / "documents.parquet").to_pylist() for f in (both, tmp_path / "m")]
    assert tables[0] == tables[1]
    for files in (expected, got):
        del files["documents.parquet"]  # groups of its rows follow the inputs' parts
    assert got == expected
    assert (merged.documents, merged.tokens) == (packed.documents, packed.tokens)
    assert verify(tmp_path / "m").problems == []


def test_shards_without_rows_leave_gaps(corpus: Path, tmp_path: Path, small_json: Path) -> None:
    make(corpus, tmp_path / "a", small_json, pack="none", shard_tokens=100)
    numbers = [shard["number"] for shard in Manifest.load(tmp_path / "a").shards]
    assert numbers != list(range(len(numbers)))
    rewrite(tmp_path / "a", output=tmp_path / "b", format="parquet")
    rewrite(tmp_path / "b", output=tmp_path / "c", format="bin")
    assert files_of(tmp_path / "c") == files_of(tmp_path / "a")
    merged = rewrite([tmp_path / "a", tmp_path / "b"], output=tmp_path / "m", format="bin")
    again = [shard["number"] for shard in merged.shards]
    assert again == numbers + [number + numbers[-1] + 1 for number in numbers]
    assert verify(tmp_path / "m").problems == []


def test_merge_keeps_shards_and_numbers_documents_on(
    padded: Path, corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    options: dict[str, Any] = {"pack": "bestfit", "context_length": 48, "validation": 0.2}
    make(corpus, tmp_path / "b", small_json, **options, on_bad={"bad_json": "skip"})
    merged = rewrite([padded, tmp_path / "b"], output=tmp_path / "m", format="bin")
    assert verify(tmp_path / "m").problems == []
    splits = [(shard["split"], shard["number"]) for shard in merged.shards]
    assert splits[-1] == ("validation", 0)  # of the second alone, and numbered from 0
    first, second = Manifest.load(padded), Manifest.load(tmp_path / "b")
    assert merged.documents["in"] == first.documents["in"] + second.documents["in"]
    assert merged.documents["skipped"]["bad_json"] == 2
    assert len(merged.shards) == len(
        {(m.folder, s["split"], s["number"]) for m in (first, second) for s in m.shards}
    )
    data = PackedDataset([tmp_path / "m"], split="train", torch=False)
    parts = [PackedDataset([f], split="train", torch=False) for f in (padded, tmp_path / "b")]
    assert len(data) == len(parts[0]) + len(parts[1])
    joined = [row["input_ids"].tolist() for part in parts for row in part]
    assert [row["input_ids"].tolist() for row in data] == joined
    last = stored_shards(merged)[-1].index()
    assert int(last.documents.min()) >= len(TEXTS)


def test_merge_shows_what_differs(
    padded: Path, corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    options = {**PADDED, "context_length": 32, "pad": "<s>"}
    make(corpus, tmp_path / "b", small_json, **options)
    with pytest.raises(PlanDiffers, match=r"context_length: 48 in .*, 32 in ") as caught:
        rewrite([padded, tmp_path / "b"], output=tmp_path / "m")
    assert len(caught.value.differences) == 2
    assert caught.value.differences[1].startswith("pad_id: 266 in ")
    assert not (tmp_path / "m").exists()


def test_merge_refuses_other_tokenizers(padded: Path, corpus: Path, tmp_path: Path) -> None:
    other = small_definition()
    other["model"]["merges"] = other["model"]["merges"][:-1]
    (tmp_path / "tokenizer.json").write_text(json.dumps(other))
    make(corpus, tmp_path / "b", tmp_path / "tokenizer.json", **PADDED)
    with pytest.raises(PlanDiffers, match=r"tokenizer\.hash"):
        rewrite([padded, tmp_path / "b"], output=tmp_path / "m")


def test_the_plan_says_what_it_was_made_from(padded: Path, tmp_path: Path) -> None:
    manifest = rewrite(padded, output=tmp_path / "b", format="npy")
    origin = manifest.data["plan"]["from"][0]
    assert origin["plan_id"] == Manifest.load(padded).plan_id
    assert manifest.data["made_from"] == [str(padded)]
    assert manifest.data.keys() >= Manifest.load(padded).data.keys()


def test_the_same_call_finds_it_finished(padded: Path, tmp_path: Path) -> None:
    rewrite(padded, output=tmp_path / "b", format="npy")
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "b").rglob("*") if p.name != ".lock"}
    again = rewrite(padded, output=tmp_path / "b", format="npy", workers=1)
    assert {p: p.stat().st_mtime_ns for p in times} == times
    assert again.data == Manifest.load(tmp_path / "b").data


def test_another_call_is_refused_unless_forced(padded: Path, tmp_path: Path) -> None:
    rewrite(padded, output=tmp_path / "b", format="npy")
    with pytest.raises(PlanDiffers, match="formats"):
        rewrite(padded, output=tmp_path / "b", format="mds")
    rewrite(padded, output=tmp_path / "b", format="mds", force=True)
    assert verify(tmp_path / "b").ok
    assert verify(tmp_path / "b").warnings == []


def test_folders_of_others_are_left_alone(padded: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").write_text("precious")
    for force in (False, True):
        with pytest.raises(OutputInUse, match="it holds bin"):
            rewrite(padded, output=tmp_path, format="bin", force=force)
    assert (tmp_path / "bin" / "mine").read_text() == "precious"


def test_what_is_read_is_never_written_over(padded: Path) -> None:
    before = files_of(padded)
    for folder in (padded, padded.parent):
        with pytest.raises(OptionError, match="would be overwritten"):
            rewrite(padded, output=folder, format="npy", force=True)
    assert files_of(padded) == before


@pytest.mark.parametrize("shard_tokens", [None, 300])
def test_a_run_that_is_stopped_is_taken_up(
    shard_tokens: int | None, padded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(padded, output=tmp_path / "whole", format="npy,mds", shard_tokens=shard_tokens)
    made: list[int] = []
    commit = rewrite_shards.Rewriting._commit

    def stop(self: Any, shard: Any, *rest: Any) -> Any:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(shard.number)
        return commit(self, shard, *rest)

    monkeypatch.setattr(rewrite_shards.Rewriting, "_commit", stop)
    output = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        rewrite(padded, output=output, format="npy,mds", shard_tokens=shard_tokens, workers=1)
    assert not (output / "manifest.json").exists()
    monkeypatch.undo()
    done = {p: p.stat().st_mtime_ns for p in output.glob("index/*")}
    assert len(done) == 2
    rewrite(padded, output=output, format="npy,mds", shard_tokens=shard_tokens)
    assert {p: p.stat().st_mtime_ns for p in done} == done
    assert files_of(output) == files_of(tmp_path / "whole")
    assert not (output / "_work").exists()


@pytest.mark.parametrize(
    "name",
    ["bin/shard-00000.bin", "index/shard-00001.rows", "documents.parquet", "quarantine.jsonl"],
)
def test_damage_is_not_passed_on(name: str, padded: Path, tmp_path: Path) -> None:
    shutil.copytree(padded, tmp_path / "a")
    content = bytearray((tmp_path / "a" / name).read_bytes())
    content[-3] ^= 1
    (tmp_path / "a" / name).write_bytes(content)
    with pytest.raises(CorruptShard, match=name.rpartition("/")[2]):
        rewrite(tmp_path / "a", output=tmp_path / "b", format="npy")
    assert not (tmp_path / "b" / "manifest.json").exists()


def test_what_a_format_cannot_hold_is_refused(
    corpus: Path, tmp_path: Path, small_json: Path
) -> None:
    make(corpus, tmp_path / "a", small_json, pack="none")
    with pytest.raises(OptionError, match="rows of one length"):
        rewrite(tmp_path / "a", output=tmp_path / "b", format="npy")
    change_manifest(tmp_path / "a", lambda data: data["options"].update(max_id=1 << 20))
    with pytest.raises(DtypeError, match="does not fit uint16"):
        rewrite(tmp_path / "a", output=tmp_path / "c", format="bin")
    with pytest.raises(OptionError, match="unknown format"):
        rewrite(tmp_path / "a", output=tmp_path / "d", format="tar")
    with pytest.raises(OptionError, match="shard_tokens"):
        rewrite(tmp_path / "a", output=tmp_path / "d", shard_tokens=0)
    with pytest.raises(OptionError, match="got none"):
        rewrite([], output=tmp_path / "d")


def test_the_commands(padded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "c")
    assert main(["convert", str(padded), "-o", a, "--format", "npy,mds"]) == 0
    assert re.search(r"books +balance", capsys.readouterr().err)
    assert main(["reshard", a, "-o", b, "--shard-tokens", "500", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["tokens"] == Manifest.load(b).tokens
    assert main(["merge", a, b, "-o", c, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["verify", c]) == 0
    assert Manifest.load(c).tokens["in"] == 2 * facts["tokens"]["in"]
    assert main(["merge", a, "-o", str(tmp_path), "--force"]) == 2
    assert "would be overwritten" in capsys.readouterr().err

"""Dirty corpora: good records are packed, bad ones quarantined with their place and reason."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.mill.corpus import BAD_LINES, LONGEST, Corpus, add_lines
from tests.mill.outputs import document_places, quarantined
from tests.mill.tuned import Sizes, shrink

from tokenmill._errors import BadRecordFound, OptionError, TooManyBadRecords
from tokenmill._mill.pack import pack
from tokenmill._write import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer
    from tokenmill._mill.output.manifest import Manifest

pytestmark = pytest.mark.usefixtures("_small")

OPTIONS: dict[str, Any] = {"pack": "none", "max_document_bytes": LONGEST, "shard_tokens": 9000}
REASONS = sorted({reason for reason, _ in BAD_LINES})


def texts_out(manifest: Manifest, tokenizer: Tokenizer) -> list[str]:
    """Decode the documents of an output, which are its rows."""
    texts: list[str] = []
    for shard in manifest.shards:
        folder = manifest.folder / "bin"
        stored = FORMATS["bin"].read_shard(folder, shard["number"], dtype=manifest.data["dtype"])
        ids = np.concatenate(list(stored)).tolist()
        while ids:
            end = ids.index(manifest.data["eos_id"])
            texts.append(tokenizer.decode(ids[:end]))
            ids = ids[end + 1 :]
    return texts


def scattered(folder: Path, documents: int, rate: int) -> Corpus:
    """A corpus with one bad line of each kind in `rate` lines, plain and compressed."""
    rng, corpus = random.Random(3), Corpus()  # noqa: S311
    for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.zst"):
        add_lines(corpus, folder / name, rng, documents, BAD_LINES * (documents // rate))
    return corpus


def check_scattered(corpus: Corpus, tokenizer: Tokenizer, out: Path) -> None:
    manifest = pack(corpus.paths, output=out, tokenizer=tokenizer, workers=3, **OPTIONS)
    assert texts_out(manifest, tokenizer) == [text for *_, text in corpus.good]
    assert [place[:3] for place in document_places(out)] == [good[:3] for good in corpus.good]
    assert list(quarantined(out)) == [bad for bad in corpus.bad if bad[0] != "empty_text"]
    documents = manifest.documents
    assert documents["out"] == len(corpus.good)
    assert documents["in"] == len(corpus.good) + len(corpus.bad)
    assert documents["skipped"] == {
        reason: sum(bad[0] == reason for bad in corpus.bad) for reason in REASONS
    }


def test_exactly_the_good_come_out(tokenizer: Tokenizer, tmp_path: Path) -> None:
    check_scattered(scattered(tmp_path, 200, 50), tokenizer, tmp_path / "out")


@pytest.mark.slow
def test_one_bad_line_of_each_kind_in_a_thousand(tokenizer: Tokenizer, tmp_path: Path) -> None:
    check_scattered(scattered(tmp_path, 20_000, 1_000), tokenizer, tmp_path / "out")


def test_quarantine_is_in_the_order_of_the_files(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a file has only one line, which is too long for memory, and no newline."""
    corpus, rng = Corpus(), random.Random(1)  # noqa: S311
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "' + b"z" * 200_000 + b'"}')
    for name, bad in {"b": BAD_LINES[:1], "c": BAD_LINES[1:4]}.items():
        add_lines(corpus, tmp_path / f"{name}.jsonl", rng, 0, bad)
    add_lines(corpus, tmp_path / "d.jsonl", rng, 1)  # without a document a run is an error
    paths = [str(tmp_path / "a.jsonl"), *corpus.paths]
    with monkeypatch.context() as patch:
        shrink(patch.setattr, Sizes(stream_bytes=10**6))  # all in one stream
        pack(paths, output=tmp_path / "out", tokenizer=tokenizer, field="text", **OPTIONS)
    assert list(quarantined(tmp_path / "out")) == [("too_long", paths[0], 1, 0), *corpus.bad]


def test_quarantine_keeps_what_a_record_was(
    dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, **OPTIONS)
    raws = set()
    for shown_line in (tmp_path / "quarantine.jsonl").read_text().splitlines():
        record = json.loads(shown_line)
        assert record["message"]
        raws.add((record["reason"], record["raw"]))
    for reason, line in BAD_LINES:
        shown = line[:4096].decode("utf-8", "backslashreplace")
        assert ((reason, shown) in raws) == (reason != "empty_text")


@pytest.mark.parametrize("reason", REASONS)
def test_skip_counts_and_does_not_keep(
    reason: str, dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    policies: Any = dict.fromkeys(REASONS, "quarantine") | {reason: "skip"}
    manifest = pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, on_bad=policies, **OPTIONS)
    assert list(quarantined(tmp_path)) == [bad for bad in dirty.bad if bad[0] != reason]
    assert manifest.documents["skipped"][reason] == sum(bad[0] == reason for bad in dirty.bad)
    assert manifest.documents["out"] == len(dirty.good)


@pytest.mark.parametrize("reason", REASONS)
def test_fail_stops_and_says_where(
    reason: str, dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    options = {**OPTIONS, "on_bad": {reason: "fail"}, "workers": 1}
    with pytest.raises(BadRecordFound) as caught:
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, **options)
    file, line = next(bad[1:3] for bad in dirty.bad if bad[0] == reason)
    assert (caught.value.path, caught.value.line) == (file, line)
    assert str(caught.value).startswith(f"{file}:{line}: {reason.replace('_', ' ')}")
    assert "hint: " in str(caught.value)
    assert not (tmp_path / "manifest.json").exists()


def test_fail_says_the_line_of_the_file_in_a_later_range(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    corpus = Corpus()
    add_lines(corpus, tmp_path / "a.jsonl", random.Random(2), 900)  # noqa: S311
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"{\n")
    for workers in (1, 3):
        with pytest.raises(BadRecordFound, match=r"a\.jsonl:901: bad json"):
            pack(
                corpus.paths,
                output=tmp_path / "out",
                tokenizer=tokenizer,
                workers=workers,
                on_bad={"bad_json": "fail"},
                **OPTIONS,
            )


def test_fail_says_the_row_of_a_table(tokenizer: Tokenizer, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [f"{i} " * 200 for i in range(300)] + [None]
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=20)
    with pytest.raises(BadRecordFound, match=r"a\.parquet:301: null field"):
        pack(
            tmp_path / "a.parquet",
            output=tmp_path / "out",
            tokenizer=tokenizer,
            on_bad={"null_field": "fail"},
            **OPTIONS,
        )


def test_replace_mends_and_counts(dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    repaired = ("bad_utf8", "lone_surrogate")
    manifest = pack(
        dirty.paths,
        output=tmp_path,
        tokenizer=tokenizer,
        on_bad=dict.fromkeys(repaired, "replace"),
        **OPTIONS,
    )
    counts = {reason: sum(bad[0] == reason for bad in dirty.bad) for reason in repaired}
    assert manifest.documents["replaced"] == counts
    assert manifest.documents["out"] == len(dirty.good) + sum(counts.values())
    texts = texts_out(manifest, tokenizer)
    assert texts.count("caf\ufffd \ufffd") == counts["bad_utf8"]
    assert texts.count("a \ufffd b") == counts["lone_surrogate"]


@pytest.mark.parametrize(
    "policies",
    [{"bad_json": "replace"}, {"empty_text": "replace"}, {"bad_jsn": "skip"}, {"bad_json": "no"}],
)
def test_policies_that_there_are_not(
    policies: Any,
    dirty: Corpus,
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    with pytest.raises(OptionError, match=r"one of"):
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, on_bad=policies, **OPTIONS)


def faults(corpus: Corpus) -> int:
    """Count the bad records that a budget counts: empty texts are not among them."""
    return sum(bad[0] != "empty_text" for bad in corpus.bad)


@pytest.mark.parametrize("as_share", [False, True])
def test_budget(as_share: bool, dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path) -> None:
    bad, records = faults(dirty), len(dirty.good) + len(dirty.bad)
    just = repr(bad / records) if as_share else bad
    less = f"{100 * (bad - 0.5) / records}%" if as_share else bad - 1
    with pytest.raises(TooManyBadRecords, match=r"more than the .* allowed") as caught:
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, max_bad=less, **OPTIONS)
    assert caught.value.bad <= caught.value.records
    assert not (tmp_path / "manifest.json").exists()
    # The budget changes no byte: with a larger one the run resumes.
    manifest = pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, max_bad=just, **OPTIONS)
    assert manifest.documents["out"] == len(dirty.good)


def test_budget_of_what_a_limit_takes(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Bad records after a limit do not count, however far workers read."""
    corpus, rng = Corpus(), random.Random(6)  # noqa: S311
    add_lines(corpus, tmp_path / "a.jsonl", rng, 400)
    add_lines(corpus, tmp_path / "b.jsonl", rng, 0, BAD_LINES * 20)
    for workers in (1, 7):
        out = tmp_path / str(workers)
        options = {**OPTIONS, "limit_documents": 20, "max_bad": 0, "workers": workers}
        assert pack(corpus.paths, output=out, tokenizer=tokenizer, **options).documents["out"] == 20


@pytest.mark.parametrize("budget", ["-1", -1, "101%", 1.5, "many", "0.1.2", None])
def test_budgets_that_there_are_not(
    budget: Any,
    dirty: Corpus,
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    if budget is None:
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, max_bad=budget, **OPTIONS)
        return
    with pytest.raises(OptionError, match="max_bad"):
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, max_bad=budget, **OPTIONS)

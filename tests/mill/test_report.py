"""`report` against a slow count of the same output, token by token."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.mill.finished import TEXTS, WAYS, make, no_waiting, write_corpus
from tests.mill.outputs import digests

from tokenmill import InputError, Manifest, OptionError, Tokenizer, pack, rewrite
from tokenmill._mill.output.stored import RowReader, stored_shards
from tokenmill._mill.report import duplicates, per_document
from tokenmill._mill.report.languages import LanguageRule, language_in
from tokenmill._mill.report.lengths import LengthCounts
from tokenmill._mill.report.report import report
from tokenmill._write import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Copies within a file, and of the same text in two files.
ENGLISH = [*TEXTS, TEXTS[5], TEXTS[5], TEXTS[12]]
GERMAN = [f"der Text Nummer {number} " * (number % 4 + 1) for number in range(30)] + TEXTS[:3]


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with no_waiting():
        yield


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpora")
    paths = [folder / "web.en.jsonl", folder / "web.de.jsonl"]
    for path, texts in zip(paths, (ENGLISH, GERMAN), strict=True):
        write_corpus(path, texts)
    return paths


@pytest.fixture(scope="module")
def outputs(
    corpora: list[Path], small_json: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("outputs")
    for way, options in WAYS.items():
        sources = [{"path": str(path)} for path in corpora]
        pack(sources, output=folder / way, tokenizer=small_json, shard_tokens=2000, **options)
    return {way: folder / way for way in WAYS}


class Slow:
    """Every token of every document that is in a row, found one by one."""

    def __init__(self, output: Path, tokenizer: Tokenizer) -> None:
        import pyarrow.parquet

        self.table = pyarrow.parquet.read_table(output / "documents.parquet").to_pylist()
        self.found: dict[int, dict[int, int]] = {}
        for shard in stored_shards(Manifest.load(output)):
            form = next(iter(shard.formats))
            for rows in RowReader(shard, form).rows(0, shard.rows):
                at = 0
                pieces = rows.pieces
                for document, begin, length in zip(
                    pieces.documents, pieces.begins, pieces.lengths, strict=True
                ):
                    for step in range(int(length)):
                        mine = self.found.setdefault(int(document), {})
                        mine[int(begin) + step] = int(rows.ids[at])
                        at += 1
        special = set(tokenizer.special_tokens.values())
        self.bytes = {
            number: sum(
                0 if i in special else len(tokenizer.token_bytes(i)) for i in tokens.values()
            )
            for number, tokens in self.found.items()
        }

    def ids(self) -> Counter[int]:
        return Counter(i for tokens in self.found.values() for i in tokens.values())

    def of_file(self, path: Path) -> list[int]:
        return [n for n, place in enumerate(self.table) if place["file"] == str(path)]

    def whole(self) -> list[tuple[int, ...]]:
        return [
            tuple(self.found[n][at] for at in range(place["tokens"]))
            for n, place in enumerate(self.table)
            if len(self.found.get(n, ())) == place["tokens"]
        ]


@pytest.mark.parametrize("way", WAYS)
def test_facts_are_those_of_a_slow_count(
    way: str, outputs: dict[str, Path], corpora: list[Path], tokenizer: Tokenizer
) -> None:
    before = digests(outputs[way])
    facts = report(outputs[way], workers=2).facts
    slow = Slow(outputs[way], tokenizer)
    ids = slow.ids()
    assert facts["scan"]["tokens"] == ids.total()
    assert facts["scan"]["text_bytes"] == sum(slow.bytes.values())
    assert facts["vocabulary"]["used"] == len(ids)
    assert facts["vocabulary"]["unused"] == tokenizer.vocab_size - len(ids)
    top = {each["id"]: each["count"] for each in facts["vocabulary"]["top"]}
    assert top == {i: ids[i] for i in top}
    assert min(top.values()) >= sorted(ids.values())[-len(top)]
    whole = slow.whole()
    assert facts["cut"]["whole"] == facts["duplicates"]["compared"] == len(whole)
    assert facts["cut"]["left_out"] == sum(n not in slow.found for n in range(len(slow.table)))
    assert facts["duplicates"]["copies"] == len(whole) - len(set(whole))
    times = Counter(whole)
    assert facts["duplicates"]["texts"] == sum(count > 1 for count in times.values())
    assert facts["duplicates"]["copied_tokens"] == sum(
        len(document) * (count - 1) for document, count in times.items()
    )
    largest = [each["copies"] for each in facts["duplicates"]["largest"]]
    assert largest == sorted((count - 1 for count in times.values() if count > 1), reverse=True)
    groups = {group["name"]: group for group in facts["sources"]}
    for path in (path for path in corpora if slow.of_file(path)):  # a limit may leave out a file
        numbers, group = slow.of_file(path), groups[str(path)]
        lengths = sorted(slow.table[n]["tokens"] for n in numbers)
        assert group["documents"] == len(numbers)
        assert group["tokens"] == sum(lengths)
        assert group["text_bytes"] == sum(slow.bytes.get(n, 0) for n in numbers)
        assert (group["least"], group["most"]) == (lengths[0], lengths[-1])
        assert group["p50"] == pytest.approx(lengths[(len(lengths) - 1) // 2], rel=0.03)
        assert group["input_bytes"] == path.stat().st_size
    assert digests(outputs[way]) == before


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_read(
    form: str, corpora: list[Path], small_json: Path, tmp_path: Path
) -> None:
    if form.startswith("torch"):
        pytest.importorskip("torch")
    options: dict[str, Any] = {"format": form, "shuffle": "docs", "tail": "pad"}
    if form not in ("megatron", "datatrove", "olmo"):
        options |= {"context_length": 48, "pack": "bestfit"}
    make(corpora[0], tmp_path / "one", small_json, **options)
    make(corpora[0], tmp_path / "bin", small_json, **{**options, "format": "bin"})
    found, wanted = (report(tmp_path / name).facts for name in ("one", "bin"))
    for facts in (found, wanted):
        del facts["output"], facts["plan_id"], facts["formats"], facts["tokens"]
        facts["rows"].pop("padding_share")
        for row in facts["samples"]:
            del row["shard"]
    assert found == wanted


def test_a_merged_output_keeps_its_sources(
    corpora: list[Path], small_json: Path, tmp_path: Path
) -> None:
    for path in corpora:
        make(path, tmp_path / path.stem, small_json, context_length=48, tail="pad")
    rewrite([tmp_path / path.stem for path in corpora], output=tmp_path / "all")
    groups = {group["name"]: group for group in report(tmp_path / "all").facts["sources"]}
    for path in corpora:
        (alone,) = report(tmp_path / path.stem).facts["sources"]
        assert {**groups[str(path)], "copies": 0} == {**alone, "copies": 0}


def test_a_sample_says_that_it_is_one(outputs: dict[str, Path]) -> None:
    whole = report(outputs["concat"]).facts
    found = report(outputs["concat"], sample="25%").facts
    assert found["scan"]["is_sample"]
    assert 0 < found["scan"]["rows"] < whole["scan"]["rows"]
    assert found["duplicates"] is found["cut"] is None
    assert found["lengths"] == whole["lengths"]
    page = report(outputs["concat"], sample=0.25).as_html()
    assert "A sample of" in page
    with pytest.raises(OptionError, match="1%"):
        report(outputs["concat"], sample="all")


def test_many_documents_are_counted_in_parts(
    outputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = report(outputs["concat"]).facts
    monkeypatch.setattr(duplicates, "_AT_ONCE", 5)
    monkeypatch.setattr(per_document, "_IN_MEMORY", 0)  # in a temporary file
    monkeypatch.setattr(per_document, "SLICE", 7)
    found = report(outputs["concat"]).facts
    for facts in (found, wanted):
        facts["duplicates"]["largest"].sort(key=lambda each: each["document"])
    assert found == wanted


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("data/wiki.de.jsonl.zst", "de"),
        ("c4-fr.00001-of-00100.json.gz", "fr"),
        ("zh/part-0.parquet", "zh"),
        ("s3://bucket/lang=pt-BR/part-0.parquet", "pt-br"),
        ("en_web.jsonl", "en"),
        ("data/train.jsonl", "unknown"),
        ("code.jsonl", "unknown"),
        ("as/or/to.txt", "unknown"),
    ],
)
def test_a_language_is_found_in_names_only(path: str, language: str) -> None:
    assert language_in(path) == language


def test_the_report_says_how_languages_were_found(outputs: dict[str, Path]) -> None:
    found = report(outputs["none"]).facts["languages"]
    assert "names of the files (en in web.en.jsonl)" in found["how"]
    assert {group["name"] for group in found["groups"]} == {"en", "de"}
    pattern = report(outputs["none"], language=r"path=web\.(..)\.").facts["languages"]
    assert [g["tokens"] for g in pattern["groups"]] == [g["tokens"] for g in found["groups"]]
    assert report(outputs["none"], language="none").facts["languages"]["groups"] == []


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_a_language_may_be_in_a_field(suffix: str, small_json: Path, tmp_path: Path) -> None:
    import gzip

    import pyarrow
    import pyarrow.parquet

    rows: list[dict[str, Any]] = [
        {"text": f"text {n}", "meta": {"lang": "en" if n % 3 else "de"}} for n in range(40)
    ]
    rows[7]["meta"] = {"lang": None}
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=7)
    else:
        data = "\n".join(["{bad", "", *map(json.dumps, rows)]).encode()
        path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    make(path, tmp_path / "out", small_json, pack="none")
    found = report(tmp_path / "out", language="field=meta.lang").facts["languages"]
    counts = {group["name"]: group["documents"] for group in found["groups"]}
    assert counts == {"en": 25, "de": 14, "unknown": 1}
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(InputError, match="changed"):
        report(tmp_path / "out", language="field=meta.lang")


@pytest.mark.parametrize("wrong", ["guess", "field=", "path=(", "path=a", "auto=1"])
def test_a_wrong_way_to_find_languages_is_refused(wrong: str) -> None:
    with pytest.raises(OptionError, match=r"language"):
        LanguageRule.read(wrong)


def test_texts_cannot_become_markup(small_json: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>\" ' & </pre></span>"
    path = tmp_path / "<b>evil.jsonl"
    lines = [json.dumps({"text": f"{evil} {number // 2}"}) for number in range(20)]
    path.write_text("\n".join([*lines, f'{{"text": {evil}']))
    make(path, tmp_path / "out", small_json, context_length=64)
    page = report(tmp_path / "out").as_html()
    body = page.partition("<body>")[2]
    assert "&lt;script&gt;" in body
    assert not any(word in body for word in ("<script", "<img", "<b>", "onerror=alert(1)>"))
    assert body.count("</pre>") == body.count("<pre>")
    assert "default-src 'none'" in page
    assert "http:" not in page
    assert "https:" not in page


def test_lengths_in_bins_are_right_to_within_three_percent() -> None:
    rng = np.random.default_rng(1)
    lengths = np.exp(rng.normal(7, 2, 5000)).astype(np.int64) + 1
    counts = LengthCounts(1)
    counts.add(np.zeros(len(lengths), np.int64), lengths)
    found, ordered = counts.facts([0]), np.sort(lengths)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        exact = int(ordered[int(np.ceil(share * len(ordered))) - 1])
        assert found[name] == pytest.approx(exact, rel=0.03)
    bars = counts.histogram()
    assert sum(bar["documents"] for bar in bars) == len(lengths)
    assert all(left["below"] == right["from"] for left, right in pairwise(bars))
    first = bars[5]
    inside = (lengths >= first["from"]) & (lengths < first["below"])
    assert first["documents"] == int(inside.sum())


def test_an_output_without_rows_has_a_report(small_json: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    make(tmp_path / "a.jsonl", tmp_path / "out", small_json, context_length=64, tail="drop")
    found = report(tmp_path / "out")
    assert found.facts["scan"]["rows"] == 0
    assert found.facts["cut"]["left_out"] == 1
    assert "Corpus report" in found.as_html()

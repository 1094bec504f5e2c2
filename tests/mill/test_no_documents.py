"""A run that reads records and finds no document in them is an error that names the cause."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.outputs import digests

from tokenmill import BadRecordFound, TooManyBadRecords, pack
from tokenmill._cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Manifest, Tokenizer

RECORDS = [{"id": i, "text": f"hello world {i}"} for i in range(1832)]


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def run(source: Any, tokenizer: Tokenizer, output: Path, **options: Any) -> Manifest:
    return pack(source, output=output, tokenizer=tokenizer, context_length=16, **options)


@pytest.mark.parametrize("policy", ["quarantine", "skip"])
def test_a_field_that_no_record_has_is_named_with_those_they_have(
    policy: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path, out = write(tmp_path / "a.jsonl", RECORDS), tmp_path / "out"
    with pytest.raises(BadRecordFound) as caught:
        run(path, tokenizer, out, field="body", on_bad={"missing_field": policy})
    assert str(caught.value) == (
        f"{path}:1: field 'body' is in none of 1,832 records; they have: id, text; "
        "hint: name the text field with field="
    )
    assert (caught.value.path, caught.value.line) == (str(path), 1)
    # Nothing is in the way of the command with the right field.
    assert digests(out) == {}
    assert run(path, tokenizer, out, field="text").documents["out"] == 1832


def test_the_command_prints_it_and_exits_with_1(
    tmp_path: Path, small_json: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", RECORDS[:3])
    options = ["-t", str(small_json), "--context-length", "16", "--field", "body"]
    assert main(["pack", str(path), "-o", str(tmp_path / "out"), *options]) == 1
    assert capfd.readouterr().err.endswith(
        f"tokenmill: {path}:1: field 'body' is in none of 3 records; they have: id, text; "
        "hint: name the text field with --field\n"
    )


def test_fields_of_stdin_are_known_too(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write(tmp_path / "a.jsonl", RECORDS).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(BadRecordFound, match="none of 1,832 records; they have: id, text"):
        run("-", tokenizer, tmp_path / "out", field="body")


def test_fields_of_records_that_are_too_long_to_be_kept_are_read_again(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", [{"id": 1, "text": "x" * 9000}] * 2)
    with pytest.raises(BadRecordFound, match="none of 2 records; they have: id, text;"):
        run(path, tokenizer, tmp_path / "out", field="body")


def test_rows_of_a_list_have_fields_too(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(BadRecordFound, match="none of 1,832 records; they have: id, text;"):
        run([RECORDS], tokenizer, tmp_path / "out", field="body")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["{", "["], "1: no document in 2 records; the first: not a single JSON value"),
        (
            ["", '{"text": ""}', "{"],
            "3: no document in 2 records; the first: not a single JSON value",
        ),
        (
            ['{"text": null, "n": 1}'],
            "1: no document in 1 record; the first: .* they have: text, n",
        ),
        (['{"text": ""}', "{}"], "2: no document in 2 records; the first: no field 'text'"),
    ],
)
def test_the_first_reason_is_given(
    lines: list[str], problem: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(BadRecordFound, match=problem):
        run(tmp_path / "a.jsonl", tokenizer, tmp_path / "out", field="text")


def test_files_that_cannot_be_read_are_no_documents(tokenizer: Tokenizer, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in "ab":
        (raw / f"{name}.jsonl.gz").write_bytes(b"\x1f\x8bnothing")
    with pytest.raises(BadRecordFound, match=r"a\.jsonl\.gz: no document in 2 files; the first: "):
        run(raw, tokenizer, tmp_path / "out", field="text", on_bad={"bad_file": "skip"})


@pytest.mark.parametrize("text", ["", "\n\n", '{"text": ""}\n'])
def test_without_a_record_or_with_empty_texts_the_output_is_empty(
    text: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    manifest = run(tmp_path / "a.jsonl", tokenizer, tmp_path / "out", field="text")
    assert (manifest.documents["out"], manifest.shards) == (0, [])


def test_one_document_is_enough_and_a_budget_comes_first(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", [{"id": 1}] * 9)
    with pytest.raises(TooManyBadRecords):
        run(path, tokenizer, tmp_path / "out", field="text", max_bad=5)
    write(path, [{"id": 1}] * 9 + [{"text": "hello"}])
    manifest = run(path, tokenizer, tmp_path / "other", field="text")
    assert manifest.documents["skipped"] == {"missing_field": 9}

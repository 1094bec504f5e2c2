"""`inspect` shows rows, documents and lines of inputs as they are."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.finished import BAD, TEXTS, make, no_waiting, write_corpus

from tokenmill import (
    Manifest,
    OptionError,
    PackedDataset,
    SourceNotFound,
    Tokenizer,
    inspect,
    rewrite,
)
from tokenmill._cli import _show, main
from tokenmill._mill.views import DocumentView, RowView, SourceView

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EOS = "</s>"


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with no_waiting():
        yield


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, int]]:
    path = tmp_path_factory.mktemp("corpus") / "a.jsonl"
    return path, write_corpus(path)


@pytest.fixture(scope="module")
def output(places: tuple[Path, dict[int, int]], small_json: Path) -> Path:
    folder = places[0].parent / "out"
    options: dict[str, Any] = {"context_length": 48, "tail": "pad", "shuffle": "docs", "seed": 3}
    make(places[0], folder, small_json, **options)
    return folder


@pytest.fixture(scope="module")
def split(places: tuple[Path, dict[int, int]], small_json: Path) -> Path:
    """Two splits, and documents that are truncated: only a part of each is in a row."""
    folder = places[0].parent / "split"
    options: dict[str, Any] = {"pack": "pad", "context_length": 30, "long_documents": "truncate"}
    make(places[0], folder, small_json, **options, validation=0.3, format="parquet")
    return folder


def row_view(output: Path, row: int, split: str | None = None) -> RowView:
    view = inspect(output, row=row, split=split)
    assert isinstance(view, RowView)
    return view


def document_view(output: Path, number: int) -> DocumentView:
    view = inspect(output, document=number)
    assert isinstance(view, DocumentView)
    return view


def source_view(output: Path, source: str) -> SourceView:
    view = inspect(output, source=source)
    assert isinstance(view, SourceView)
    return view


def test_rows_are_those_of_the_dataset(output: Path) -> None:
    columns = ("input_ids", "labels", "position_ids", "segment_ids")
    rows = PackedDataset([output], columns=columns, torch=False)
    for number in (0, 1, len(rows) // 2, len(rows) - 1):
        view, row = row_view(output, number), rows[number]
        count = view.tokens
        assert count + view.padding == 48
        for name, column in (("ids", "input_ids"), ("labels",) * 2, ("position_ids",) * 2):
            shown = [value for piece in view.pieces for value in getattr(piece, name)]
            assert shown == row[column][:count].tolist(), name
        segments = [i for i, p in enumerate(view.pieces, start=1) for _ in p.ids]
        assert segments == row["segment_ids"][:count].tolist()
        assert view.padding == 0 or number == len(rows) - 1


def test_every_token_of_every_row_is_placed(output: Path, small: Tokenizer) -> None:
    rows = sum(shard["rows"] for shard in Manifest.load(output).shards)
    seen: dict[int, dict[int, int]] = {}
    for number in range(rows):
        for piece in row_view(output, number).pieces:
            tokens = seen.setdefault(piece.place.number, {})
            tokens.update(zip(range(piece.begin, piece.end), piece.ids, strict=True))
            assert piece.begins_document == (piece.begin == 0)
            assert piece.ends_document == (piece.ids[-1] == small.token_to_id(EOS))
            assert small.decode_bytes(piece.ids).decode("utf-8", "backslashreplace") == piece.text
            assert len(piece.tokens) == len(piece.ids)
    assert sorted(seen) == list(range(len(TEXTS)))
    for number, tokens in seen.items():
        assert small.decode([tokens[i] for i in range(len(tokens))]) == TEXTS[number] + EOS


def test_every_document_is_found_by_number_and_line(
    output: Path, places: tuple[Path, dict[int, int]]
) -> None:
    path, lines = places
    for number, text in enumerate(TEXTS):
        view = document_view(output, number)
        assert (view.text, view.missing) == (text + EOS, 0)
        assert (view.place.file, view.place.line) == (str(path), lines[number])
        for spot in view.spots[:: len(view.spots) or 1]:
            row = row_view(output, spot.row)
            ids = [token for piece in row.pieces for token in piece.ids]
            shown = ids[spot.column : spot.column + spot.length]
            assert shown == view.ids[spot.begin : spot.begin + spot.length]
    found = source_view(output, f"a.jsonl:{lines[7]}")
    assert found.documents == (document_view(output, 7),)
    assert found.quarantine == ()


def test_lines_that_were_put_aside_say_why(
    output: Path, places: tuple[Path, dict[int, int]]
) -> None:
    path, lines = places
    for number, reason in ((3, "bad_json"), (20, "wrong_type")):
        view = source_view(output, f"{path}:{lines[number] - 1}")
        assert view.documents == ()
        assert view.quarantine[0]["reason"] == reason
        assert view.quarantine[0]["raw"] == BAD[number].decode()
    skipped = source_view(output, f"{path}:{lines[41] - 1}")  # empty text is skipped
    assert (skipped.documents, skipped.quarantine) == ((), ())


def test_splits_and_documents_that_were_cut(split: Path) -> None:
    train, validation = (row_view(split, 0, name) for name in ("train", "validation"))
    assert train == row_view(split, 0)
    assert train.pieces[0].place != validation.pieces[0].place
    assert (train.split, validation.split) == ("train", "validation")
    view = document_view(split, 6)
    assert view.missing == view.place.tokens - 30
    assert len(view.ids) == 30
    assert TEXTS[6].encode().startswith(view.text.partition("\\x")[0].encode())


def test_documents_are_found_behind_convert_and_merge(output: Path, tmp_path: Path) -> None:
    rewrite([output, output], output=tmp_path / "m", format="mds")
    view = document_view(tmp_path / "m", len(TEXTS) + 5)
    assert view.text == TEXTS[5] + EOS
    found = source_view(tmp_path / "m", f"a.jsonl:{view.place.line}")
    assert [document.place.number for document in found.documents] == [5, len(TEXTS) + 5]


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        ({"row": 10**6}, "train has .* rows, counted from 0"),
        ({"row": -1}, "train has .* rows, counted from 0"),
        ({"document": 60}, "there are 60 documents"),
        ({"source": "a.jsonl"}, r"as data\.jsonl:991"),
        ({"row": 0, "split": "test"}, "expected one of train, got 'test'"),
        ({"row": 0, "document": 0}, "expected one of row, document and source"),
    ],
)
def test_what_is_not_there_is_said(output: Path, choice: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        inspect(output, **choice)


def test_an_unknown_input_is_an_error(output: Path) -> None:
    with pytest.raises(
        SourceNotFound, match=r"no input has this name; hint: the inputs are .*a\.jsonl"
    ):
        inspect(output, source="b.jsonl:1")
    with pytest.raises(SourceNotFound, match="no input has this name"):
        inspect(output, source=".jsonl:1")  # the end of a name does not match


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["inspect", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def width(line: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("flags", [(), ("--ids",), ("--mask",), ("--all",)])
def test_pages_fit_the_terminal_and_hold_nothing_unprintable(
    columns: int,
    flags: tuple[str, ...],
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for choice in (("--row", 3), ("--document", 6), ("a.jsonl:4",), ("a.jsonl:9",)):
        page = shown(capsys, output, *choice, *flags)
        assert all(width(line) <= columns for line in page.splitlines())
        assert all(c == "\n" or c.isprintable() for c in page)


def test_a_page_for_people(
    output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = shown(capsys, output, "--document", "1")
    assert "document 1: " in page
    assert "a.jsonl:2, byte " in page
    assert "hello world 1 \u00e9\u4e2d\U0001f600\\ttab\\n\n  line \\x1b[31m end of 1</s>" in page
    mask = shown(capsys, output, "--row", "2", "--mask")
    first = row_view(output, 2).pieces[0]
    assert f"{0:>9} {first.ids[0]:>8} {0:>7} {'-':>8}  " in mask
    assert f"{1:>9} {first.ids[1]:>8} {1:>7} {first.ids[1]:>8}  " in mask
    long = shown(capsys, output, "--document", "6", "--ids")
    assert "more lines; --all shows them" in long
    assert "more lines" not in shown(capsys, output, "--document", "6", "--ids", "--all")
    assert "was quarantined: bad json" in shown(capsys, output, "a.jsonl:4")
    assert "no document starts here" in shown(capsys, output, "a.jsonl:4000")


def test_colour_is_for_terminals_that_want_it(
    output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "\x1b[" not in shown(capsys, output)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;36m" in shown(capsys, output)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in shown(capsys, output)


def test_json_has_what_was_asked_for(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(shown(capsys, output, "--row", "1", "--json"))
    assert plain["kind"] == "row"
    assert not plain["pieces"][0].keys() & {"ids", "labels", "position_ids", "tokens"}
    whole = json.loads(shown(capsys, output, "--row", "1", "--json", "--ids", "--mask"))
    view = row_view(output, 1)
    assert whole["pieces"][0]["labels"] == view.pieces[0].labels
    assert whole["pieces"][0]["tokens"] == view.pieces[0].tokens
    assert whole["tokens"] == view.tokens
    line = json.loads(shown(capsys, output, "a.jsonl:4", "--json"))
    assert line["quarantine"][0]["reason"] == "bad_json"


def test_two_choices_are_a_wrong_command(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["inspect", str(output), "a.jsonl:4", "--row", "1"])
    assert caught.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


def test_text_is_folded_behind_spaces() -> None:
    assert list(_show._fold("one two three", 8, "> ")) == ["> one two ", "> three"]
    assert list(_show._fold("\u4e2d\u4e2d\u4e2d", 4, "")) == ["\u4e2d\u4e2d", "\u4e2d"]
    assert list(_show._fold("abcdefgh", 3, "")) == ["abc", "def", "gh"]
    assert list(_show._fold("", 3, "")) == [""]

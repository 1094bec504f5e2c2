"""`tokenmill bench tokenize`: ids before times, every row by itself, nothing left out silently."""

from __future__ import annotations

import json
import os
import re
import sys
from array import array
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tokenmill import InputError, Tokenizer, TokenmillError
from tokenmill._bench import launch, libraries, plot, processes, worker
from tokenmill._bench.answers import answer_of, check_same, read_texts, write_texts
from tokenmill._bench.documents import make_documents, read_documents
from tokenmill._bench.libraries import Library
from tokenmill._bench.processes import measure
from tokenmill._bench.result import Result, Row
from tokenmill._cli import main
from tokenmill._read import ReadRules

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = ["hello world", "", "hello hello h\u00e9llo", "wo rld " * 30, "hell"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four documents and two records that are none."""
    path = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"text": text}) for text in TEXTS]
    path.write_text("\n".join([*lines, "not JSON"]) + "\n")
    return path


def bench(*arguments: str | Path) -> int:
    return main(["bench", "tokenize", *map(str, arguments)])


def table_of(text: str) -> list[list[str]]:
    """Return the cells of the rows between the header and the next blank line."""
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("tokenizer "))
    return [line.split() for line in lines[begin + 1 : lines.index("", begin)]]


def test_the_table_has_a_row_for_each_tokenizer_and_size(
    small_json: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--only", "native,fast", "--batch-sizes", "1,3", "--repeat", "1", "--threads", "1")
    assert bench("-t", small_json, "-i", corpus, *options, "--against", "fast/1") == 0
    shown = capsys.readouterr().out
    rows = table_of(shown)
    assert [row[:2] for row in rows] == [
        ["fast", "1"], ["fast", "3"], ["native", "1"], ["native", "3"],
    ]  # fmt: skip
    assert rows[0][6] == "1.0"
    assert max(map(len, shown.splitlines())) <= 80
    tokens = int(Tokenizer.load(small_json).count_batch(TEXTS).sum())
    assert f"all rows return the same {tokens:,} ids" in shown
    words = " ".join(shown.split())
    assert "skipped, not documents: 1 bad json, 1 empty text" in words
    assert "speedup (against fast/1)" in words


def test_json_on_stdout_has_every_process_and_the_table_goes_to_stderr(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--only", "native", "--batch-sizes", "2", "--repeat", "2", "--num-docs", "3")
    assert bench("-i", corpus, *options, "--json", "-") == 0
    shown = capsys.readouterr()
    facts = json.loads(shown.out)
    assert facts["input"]["documents"] == 3
    assert facts["input"]["bytes"] == sum(len(t.encode()) for t in TEXTS[:1] + TEXTS[2:4])
    cold, warm = facts["rows"]
    for row in (cold, warm):
        assert len(row["samples"]) == 2
        for name in ("load_seconds", "p50", "peak_mib"):
            assert min(sample[name] for sample in row["samples"]) > 0
    assert cold["labels"] == {"library": "native", "batch_size": 2, "pass": "cold"}
    assert cold["ids"] == warm["ids"]
    assert [cells[0] for cells in table_of(shown.err)] == ["native"]


def test_a_missing_package_is_named(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "find_spec", lambda _name: None)
    options = ("--batch-sizes", "5", "--repeat", "1", "--num-docs", "5")
    assert bench("-t", small_json, *options, "--against", "slow/5") == 0
    shown = capsys.readouterr().out
    assert "Speedup is against native/5, the slowest: no slow/5 was measured." in shown
    assert [row[0] for row in table_of(shown)] == ["native"]
    assert "slow not measured: needs transformers (pip install 'tokenmill[hf]')" in shown
    assert "fast not measured: needs tokenizers (pip install 'tokenmill[hf]')" in shown


@pytest.mark.parametrize("folder", [None, "somewhere"])
def test_a_missing_slow_tokenizer_is_reported(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None
) -> None:
    """As transformers 5 does for byte-level BPE, whatever `use_fast` is."""
    fast = SimpleNamespace(is_fast=True)
    auto = SimpleNamespace(from_pretrained=lambda _folder, use_fast: fast)
    fake = SimpleNamespace(AutoTokenizer=auto, __version__="5.0")
    monkeypatch.setitem(sys.modules, "transformers", fake)
    request = {"folder": folder, "json": str(small_json), "answer": "unused"}
    with pytest.raises(libraries.CannotMeasure, match=r"transformers 5\.0 has no slow tokenizer"):
        libraries.load_slow(request)


def test_a_slow_tokenizer_is_measured_where_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="the extra `test` has it")
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(bert_definition()))
    options = ("--only", "slow,native", "--batch-sizes", "4", "--repeat", "1", "--num-docs", "9")
    assert bench("-t", path, *options) == 0
    shown = capsys.readouterr().out
    assert [row[0] for row in table_of(shown)] == ["slow", "native"]
    assert "BertTokenizerLegacy" in shown


def bert_definition() -> dict[str, Any]:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    tokens = [*special, *letters, *(f"##{letter}" for letter in letters), "the", "##ing", "."]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": number, "content": token, "special": True, **flags}
        for number, token in enumerate(special)
    ]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
            "strip_accents": None, "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: number for number, token in enumerate(tokens)},
        },
    }  # fmt: skip


def test_other_ids_are_an_error_and_no_time_is_shown(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = processes._run_process

    def lie_once(body: dict[str, Any], threads: int) -> dict[str, Any]:
        report: dict[str, Any] = run(body, threads)
        if body["batch_size"] == 2:
            path = Path(body["answer"]).with_suffix(".ids")
            ids = array("I", path.read_bytes())
            ids[0] += 1
            path.write_bytes(ids.tobytes())
        return report

    monkeypatch.setattr(processes, "_run_process", lie_once)
    options = ("--only", "native", "--batch-sizes", "1,2", "--num-docs", "2")
    assert bench("-t", small_json, *options) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "document 0: native/1 and native/2 give different ids: at token 0" in shown.err


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [3, 5]], "document 1: .*at token 1 expected id 4, got id 5"),
        ([[1, 2], [3]], "document 1: .*at token 1 expected id 4, got no more ids"),
        ([[1, 2, 9], [3, 4]], "document 0: .*at token 2 expected no more ids, got id 9"),
        ([[1, 2]], "ids of 1 documents, b of 2"),
        ([[1], [2, 3, 4]], "document 0: .*expected id 2, got no more ids"),
    ],
)
def test_the_first_difference_is_named(rows: list[Sequence[int]], message: str) -> None:
    right = answer_of([[1, 2], [3, 4]])
    check_same(answer_of([[1, 2], [3, 4]]), "a", right, "b")
    with pytest.raises(TokenmillError, match=message):
        check_same(answer_of(rows), "a", right, "b")


def test_texts_survive_the_way_to_a_process(tmp_path: Path) -> None:
    write_texts(tmp_path / "documents", TEXTS)
    assert read_texts(tmp_path / "documents") == TEXTS


def test_a_tokenizer_that_changes_its_mind_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(100))
    fickle = Library(
        "0", lambda _text: [next(calls)], list, lambda results, _singles: answer_of(results)
    )
    monkeypatch.setitem(libraries.LOADERS, "native", lambda _request: fickle)
    write_texts(tmp_path / "documents", ["a"])
    request = {
        "library": "native", "batch_size": 1, "texts": str(tmp_path / "documents"),
        "answer": str(tmp_path / "answer"),
    }  # fmt: skip
    with pytest.raises(libraries.CannotMeasure, match="other ids the second time"):
        worker.run(request)


def test_a_process_that_dies_is_an_error(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "_WORKER", "tokenmill._no_such_module")
    assert bench("-t", small_json, "--only", "native", "--num-docs", "1") == 1
    printed = capsys.readouterr().err
    assert "native/1: its process ended with 1: " in printed
    assert "_no_such_module" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--batch-sizes", "1,0"), "expected a whole number of at least 1, got '0'"),
        (("--only", "fast,quick"), "expected any of slow, fast, native, got 'quick'"),
        (("--num-docs", "-3"), "expected a whole number of at least 1, got '-3'"),
        (("--threads", "none"), "expected a whole number of at least 1, got 'none'"),
    ],
)
def test_a_wrong_option_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench(*arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_row_that_will_not_be_there_is_refused_before_measuring(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench("--against", "fast/7", "--batch-sizes", "1,8", "--only", "fast,native") == 2
    printed = capsys.readouterr().err
    assert (
        "--against: expected a row, got 'fast/7'; hint: one of fast/1, fast/8, native/1" in printed
    )


def test_an_input_without_documents_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"text": ""}\n')
    with pytest.raises(InputError, match="no document in 1 input"):
        read_documents([str(path)], 10, ReadRules())


def test_documents_are_read_up_to_the_number(corpus: Path) -> None:
    documents = read_documents([str(corpus)], 2, ReadRules())
    assert documents.texts == [TEXTS[0], TEXTS[2]]
    assert documents.skipped == {"bad_json": 1, "empty_text": 1}


def test_made_documents_are_always_the_same() -> None:
    documents = make_documents(20)
    assert documents.texts == make_documents(21).texts[:20]
    assert len(set(documents.texts)) == 20
    assert all(text.isascii() and len(text) > 100 for text in documents.texts)


def test_the_plot_is_drawn_or_the_package_it_needs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn where matplotlib is installed; the error is tested everywhere."""
    row = Row("native", 1, 5, "tokenmill", "", 9, "", [0.1], [0.1], [0.1])
    path = tmp_path / "times.png"
    if find_spec("matplotlib") is not None:
        plot.draw(Result([row], {}, 1, 0.0), "title", path)
        assert path.read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(plot, "find_spec", lambda _name: None)
    with pytest.raises(TokenmillError, match=r"matplotlib: not installed.*pip install"):
        plot.draw(Result([row], {}, 1, 0.0), "title", path)
    assert bench("--plot", path) == 1


def test_a_busy_machine_is_reported(
    small_json: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (77.7, 0.0, 0.0))
    bench("-t", small_json, "--only", "native", "--batch-sizes", "2", "--num-docs", "2",
          "--repeat", "1")  # fmt: skip
    assert "The load average was 77.7" in capsys.readouterr().out


def test_measure_says_what_it_does(small_json: Path) -> None:
    printed: list[str] = []
    request = processes.Request(str(small_json), None, (1,), 2, 1, ("native",))
    result = measure(request, ["hello"], printed.append)
    assert printed == ["round 1 of 2: native/1", "round 2 of 2: native/1"]
    assert result.rows[0].tokens == len(Tokenizer.load(small_json).encode("hello"))


def test_the_reference_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench("--help")
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out))
    page = Path(__file__).resolve().parents[2] / "docs/reference/cli.md"
    section = page.read_text(encoding="utf-8").split("## `tokenmill bench tokenize")[1]
    assert [name for name in sorted(options - {"-h", "--help"}) if f"`{name} " not in section] == []
    assert {"--against", "-i", "--plot"} <= options

"""Commands and snippets that guides for other tools teach, as they are written there.

A script's name becomes a command of tokenmill; everything after it stays as it is. The numbers
c9 to c31 are those of the list of commands that were asked for.
"""

from __future__ import annotations

import re
import shlex
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tests.cli.slow_cut import (
    TEXTS,
    HubRows,
    HubStream,
    fake_datasets,
    rows_of,
    slow_rows,
    write_jsonl,
)

from tokenmill import Manifest, PackedDataset, Tokenizer
from tokenmill._cli import main

SCRIPTS = {
    "tokenize_folder.py": "pretokenize",
    "pretokenize_and_pack.py": "pretokenize",
    "benchmark_tokenization.py": "bench",
}
EOS = "<|endoftext|>"


def run(command: str) -> int:
    """Run a command line that starts `python script.py`, or `tokenmill COMMAND`."""
    words = shlex.split(command.replace("\\\n", " "))
    if words[0] == "python":
        words = ["tokenmill", SCRIPTS[words[1]], *words[2:]]
    assert words[0] == "tokenmill"
    return main(words[1:])


@pytest.fixture
def builtin() -> Tokenizer:
    return Tokenizer.load()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hub(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """A hub on which every dataset has the same rows; returns what was asked of it."""
    asked: list[tuple[Any, ...]] = []

    def load(name: str, config: str, **keywords: Any) -> HubRows | HubStream:
        asked.append((name, config, keywords))
        return HubStream(TEXTS) if keywords["streaming"] else HubRows(TEXTS)

    fake_datasets(monkeypatch, load)
    return asked


def test_c17_a_folder_with_the_options_of_the_guide(
    here: Path, builtin: Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "data").mkdir()
    write_jsonl(here / "data" / "a.jsonl", TEXTS)
    (here / "data" / "b.jsonl.gz").write_bytes(b"not gzip")
    command = r"""python tokenize_folder.py \
        --input-dir data \
        --output-dir tokens \
        --num-workers 16 \
        --batch-size 100 \
        --sequences-per-chunk 50000"""
    assert run(command) == 4  # done, but b.jsonl.gz could not be read
    printed = capsys.readouterr().err
    assert "chunk size  2048 tokens (default" in printed
    assert "ignored     --batch-size: the input is files, not the hub" in printed  # c18
    assert "data/b.jsonl.gz: " in printed
    assert f"{len(TEXTS):>12}  read, all of them packed" in printed
    assert f"left out    {1:>12}  unreadable file   data/b.jsonl.gz" in printed
    assert rows_of(here / "tokens") == slow_rows(builtin, TEXTS, eos=EOS, size=2048)
    assert run(command) == 4
    assert "tokens is already finished" in capsys.readouterr().err


def test_c19_files_are_read_ahead_on_request(here: Path) -> None:
    (here / "data").mkdir()
    write_jsonl(here / "data" / "a.jsonl", TEXTS)
    assert run("python tokenize_folder.py --input-dir data --prefetch_files 4 --quiet") == 0
    assert Manifest.load("tokenized/data").documents["out"] == len(TEXTS)


def test_c20_the_batch_call_of_the_guide(small_json: Path) -> None:
    from tokenmill.compat.hf import AutoTokenizer

    documents = TEXTS[:100]
    tokenizer = AutoTokenizer.from_pretrained(str(small_json.parent), use_fast=True)
    assert tokenizer.is_fast
    found = tokenizer(documents, add_special_tokens=False, truncation=False, padding=False)
    native = Tokenizer.load(small_json)
    assert found["input_ids"] == [native.encode(text).tolist() for text in documents]


def count(job: tuple[Tokenizer, str]) -> int:
    tokenizer, text = job
    return len(tokenizer.encode(text))


def test_c20_a_tokenizer_goes_into_a_pool_of_processes(small: Tokenizer) -> None:
    # Not fork: the threads of other tests are still there.
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(count, [(small, text) for text in TEXTS[:8]]))
    assert found == [len(small.encode(text)) for text in TEXTS[:8]]


@pytest.mark.slow
def test_c21_the_benchmark_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("python benchmark_tokenization.py --num-docs 1000") == 0
    shown = capsys.readouterr().out
    assert "1,000 documents" in shown
    assert all(word in shown for word in ("docs/s", "tokens/s", "speedup", "native"))


@pytest.mark.parametrize(
    "command",
    [
        # c22
        r"""python pretokenize_and_pack.py \
            --dataset finewebedu \
            --chunk_size 32768 \
            --batch_size 5000 \
            --cache_dir data \
            --force""",
        # c23
        r"""python pretokenize_and_pack.py \
            --dataset finewebedu \
            --chunk-size 32768 \
            --batch-size 5000 \
            --cache-dir data \
            --force""",
        "python pretokenize_and_pack.py --dataset finewebedu --chunk_size 32768 --num_proc 8",
    ],
)
def test_c22_c23_a_dataset_by_its_name(
    command: str, here: Path, hub: list[tuple[Any, ...]], builtin: Tokenizer
) -> None:
    assert run(command) == 0
    ((name, config, keywords),) = hub
    assert (name, config) == ("HuggingFaceFW/fineweb-edu", "sample-10BT")
    assert keywords["cache_dir"] == ("data" if "cache" in command else None)
    # c26: the output is a folder named after the dataset.
    rows = slow_rows(builtin, TEXTS, eos=EOS, size=32768)
    assert rows_of(here / "tokenized" / "finewebedu") == rows


def test_c24_a_dataset_that_is_streamed(
    here: Path,
    hub: list[tuple[Any, ...]],
    builtin: Tokenizer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "python pretokenize_and_pack.py --dataset finewebedu --streaming --force"
    assert run(command) == 0
    assert hub[0][2]["streaming"] is True
    printed = capsys.readouterr().err
    assert "chunk size  2048 tokens (default; set it with --chunk-size)" in printed
    assert "output      tokenized/finewebedu (default; set it with --output)" in printed
    found = rows_of(here / "tokenized" / "finewebedu")
    assert found == slow_rows(builtin, TEXTS, eos=EOS, size=2048)


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        ("--dataset finewebedu --chunk-size 32768 --batch-size 5000 -o out", 1000),
        ("--dataset finewebedu --chunk_size 64 --streaming --max_chunks 5 -o out", 5),
        ("--dataset finewebedu --chunk_size 64 --max_chunks 1000 -o out", 1000),
    ],
)
def test_c25_a_preset_with_an_output_and_a_limit(
    command: str, limit: int, here: Path, hub: list[tuple[Any, ...]], builtin: Tokenizer
) -> None:
    assert run(f"python pretokenize_and_pack.py {command}") == 0
    assert len(hub) == 1
    size = 64 if "64" in command else 32768
    assert rows_of(here / "out") == slow_rows(builtin, TEXTS, eos=EOS, size=size)[:limit]


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ("--dataset owner/name", "name"),
        ("--dataset ./raw", "raw"),
        ("--input-dir raw/", "raw"),
        ("--input-dir .", None),
        ("--dataset raw/*.jsonl", "raw"),
        ("--dataset raw/a.jsonl", "a"),
    ],
)
def test_c26_the_output_is_named_after_the_input(
    given: str, folder: str | None, here: Path, hub: list[tuple[Any, ...]]
) -> None:
    (here / "raw").mkdir()
    write_jsonl(here / "raw" / "a.jsonl", TEXTS)
    assert run(f"tokenmill pretokenize --quiet {given}") == 0
    assert Manifest.load(here / "tokenized" / (folder or here.name)).documents["out"] == len(TEXTS)
    assert run(f"tokenmill pretokenize --quiet {given}") == 0  # its own output is not an input


def test_c27_one_plain_tensor_a_chunk(
    here: Path, hub: list[tuple[Any, ...]], builtin: Tokenizer
) -> None:
    torch = pytest.importorskip("torch")
    command = "python pretokenize_and_pack.py --dataset finewebedu --chunk_size 64"
    assert run(f"{command} --format torch-chunks --sequences-per-chunk 1 --tail drop") == 0
    rows = [row for row in slow_rows(builtin, TEXTS, eos=EOS, size=64) if len(row) == 64]
    folder = here / "tokenized" / "finewebedu" / "torch-chunks"
    assert sorted(path.name for path in folder.iterdir()) == [
        f"chunk_{number:06d}.pt" for number in range(len(rows))
    ]
    for number, row in enumerate(rows):
        chunk = torch.load(folder / f"chunk_{number:06d}.pt")
        assert (chunk.dtype, chunk.tolist()) == (torch.int64, row)


def test_c28_a_trainer_reads_the_default_output(
    here: Path, hub: list[tuple[Any, ...]], builtin: Tokenizer
) -> None:
    assert run("python pretokenize_and_pack.py --dataset finewebedu --chunk_size 64") == 0
    dataset = PackedDataset("tokenized/finewebedu", torch=False)
    rows = slow_rows(builtin, TEXTS, eos=EOS, size=64)
    assert rows == rows_of(here / "tokenized" / "finewebedu")
    rows[-1] += [builtin.special_tokens["<|pad|>"]] * (64 - len(rows[-1]))
    assert [row["input_ids"].tolist() for row in dataset] == rows


@pytest.mark.parametrize("name", ["wikitext-103", "wikitext"])
def test_c31_wikitext_103_is_a_preset(here: Path, hub: list[tuple[Any, ...]], name: str) -> None:
    assert run(f"python pretokenize_and_pack.py --dataset {name} --quiet") == 0
    assert hub[0][:2] == ("Salesforce/wikitext", "wikitext-103-raw-v1")
    assert Path("tokenized", name, "manifest.json").exists()


def test_a_wrong_column_is_an_error_that_lists_the_columns(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "data").mkdir()
    write_jsonl(here / "data" / "a.jsonl", TEXTS)
    for command, option in (
        ("pack data -o packed --context-length 64 --field body", "--field"),
        ("pretokenize --input-dir data --text-column body", "--text-column"),
    ):
        assert run(f"tokenmill {command}") == 1
        assert (
            f"field 'body' is in none of {len(TEXTS)} records; they have: text; "
            f"hint: name the text field with {option}\n"
        ) in capsys.readouterr().err


def test_the_closing_lines_have_times_and_rates(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "data").mkdir()
    write_jsonl(here / "data" / "a.jsonl", TEXTS)
    for command in ("pack data -o packed --context-length 64", "pretokenize --input-dir data"):
        assert run(f"tokenmill {command}") == 0
        printed = capsys.readouterr().err
        times = [line for line in printed.splitlines() if line.startswith(("time ", "memory "))]
        rates = r"[\d.,]+ documents/s, [\d.,]+( M)? tokens/s, (less than )?[\d.,]+ MB/s"
        assert re.match(rf"time +[\d.]+ s  {rates}", times[0])
        assert re.match(r"memory +[\d,]+ MB  peak$", times[1])

"""Full disks, inputs that vanish, change or are damaged, Ctrl-C: nothing is left half-done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.children import Order, run_child
from tests.mill.corpus import LONGEST, Corpus, dirty_corpus
from tests.mill.outputs import digests, unfinished_names

from tokenmill._errors import (
    InputError,
    OutputError,
    PlanDiffers,
    SourceNotFound,
    SpecialTokenInText,
)
from tokenmill._mill.pack import pack
from tokenmill._mill.run import run
from tokenmill._mill.run.feed import Feed
from tokenmill._mill.run.tokenize import Tokenizing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenmill import Tokenizer

OPTIONS: dict[str, Any] = {
    "context_length": 128,
    "shard_tokens": 12_000,
    "max_document_bytes": LONGEST,
    "workers": 2,
    "format": "bin,parquet",
}


class Mill:
    """A corpus that a test may damage, and its output without damage."""

    def __init__(self, folder: Path, small_json: Path) -> None:
        (folder / "in").mkdir()
        self.corpus = dirty_corpus(folder / "in", documents=100)
        self.output = folder / "out"
        self._tokenizer = str(small_json)
        self.steps = run_child(self.order(folder / "alone")).steps
        self.expected = digests(folder / "alone")

    def order(self, output: Path, **how: Any) -> Order:
        options = {**OPTIONS, "tokenizer": self._tokenizer, "output": str(output)}
        return Order(self.corpus.paths, options, **how)

    def run(self, **how: Any) -> BaseException | None:
        return run_child(self.order(self.output, **how)).error

    def check_nothing_half_done(self) -> None:
        """Check that every file with its final name is complete."""
        assert not (self.output / "manifest.json").exists()
        assert not unfinished_names(self.output)
        found = digests(self.output)
        shards = {name: value for name, value in found.items() if not name.startswith("_work")}
        assert {name: self.expected[name] for name in shards} == shards
        for path in (self.output / "_work").rglob("*.json"):
            json.loads(path.read_bytes())
        for path in (self.output / "_work" / "parts").glob("*.json"):
            record = json.loads(path.read_bytes())
            assert path.with_suffix(".tokens").stat().st_size == record["bytes"]

    def check_resumes(self) -> None:
        assert self.run() is None
        assert digests(self.output) == self.expected


@pytest.fixture
def mill(tmp_path: Path, small_json: Path) -> Mill:
    return Mill(tmp_path, small_json)


def test_full_disk(mill: Mill) -> None:
    failed_in = set()
    for file_bytes in (700, 8_000, 20_000, 30_000):  # the plan, a part, a shard, a table
        error = mill.run(file_bytes=file_bytes)
        assert isinstance(error, OutputError)
        assert isinstance(error, OSError)
        assert "cannot be written: File too large; hint: make room" in str(error)
        assert str(mill.output) in str(error)
        failed_in.add(Path(error.path).parent.name)
        mill.check_nothing_half_done()
    assert {"_work", "parts"} < failed_in
    mill.check_resumes()


def test_interrupt(mill: Mill) -> None:
    steps = [1, *[mill.steps // 5] * 3]
    while steps:
        error = mill.run(die_at=steps[0], signal=signal.SIGINT)
        if error is None:  # workers were done before the main thread noticed
            assert digests(mill.output) == mill.expected
            shutil.rmtree(mill.output)
        else:
            assert isinstance(error, KeyboardInterrupt)
            mill.check_nothing_half_done()
            steps.pop(0)
    mill.check_resumes()


@pytest.mark.usefixtures("_small")
def test_interrupt_is_raised_when_no_worker_writes_any_more(
    tokenizer: Tokenizer, dirty: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, delivered = threading.Event(), threading.Event()
    deliver, stop = Feed.deliver, Tokenizing.stop

    def interrupting(self: Feed, *arguments: Any) -> int:
        if self.stream or stopped.is_set():
            return deliver(self, *arguments)
        os.kill(os.getpid(), signal.SIGINT)
        stopped.wait()
        time.sleep(0.3)  # a run that does not wait for this worker would have ended by now
        written = deliver(self, *arguments)
        delivered.set()
        return written

    def stopping(self: Tokenizing) -> None:
        stop(self)
        stopped.set()

    monkeypatch.setattr(Feed, "deliver", interrupting)
    monkeypatch.setattr(Tokenizing, "stop", stopping)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, **{**OPTIONS, "workers": 1})
    finally:
        signal.signal(signal.SIGINT, before)
    assert delivered.is_set()
    assert not unfinished_names(tmp_path)


TWICE = """
import sys, threading
from tokenmill._cli import main
wait, interrupts = threading.Condition.wait, []
def interrupted(condition, timeout=None):
    is_main = threading.current_thread() is threading.main_thread()
    heard = wait(condition, timeout)
    if is_main and timeout is not None and len(interrupts) < 2:
        interrupts.append(timeout)
        raise KeyboardInterrupt
    return heard
threading.Condition.wait = interrupted
sys.exit(main(sys.argv[1:]))
"""


def test_interrupted_while_it_waits_for_its_workers(tmp_path: Path) -> None:
    line = json.dumps({"text": "Some words that take a while. " * 1000}) + "\n"
    (tmp_path / "a.jsonl").write_text(line * 1500)
    command = ["pack", str(tmp_path / "a.jsonl"), "--output", str(tmp_path / "out")]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", TWICE, *command, "--context-length", "64", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.split("\n")) == (
        130,
        ["", "tokenmill: stopped; the same command resumes from here", ""],
    )


def vanish(path: Path) -> None:
    path.unlink()


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def shrink_file(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("spoil", [vanish, become_a_folder, shrink_file])
@pytest.mark.parametrize("name", ["a.jsonl", "c.jsonl.gz", "e.parquet"])
def test_input_that_goes_away_in_the_middle(
    spoil: Callable[[Path], None],
    name: str,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus = dirty_corpus(tmp_path, documents=60)
    path = tmp_path / name
    kept = tmp_path / "kept"
    shutil.copy2(path, kept)
    start = run.Run.start

    def spoiled(self: run.Run) -> None:
        start(self)
        spoil(path)

    with monkeypatch.context() as patch:
        patch.setattr(run.Run, "start", spoiled)
        with pytest.raises(InputError, match=name) as caught:
            pack(corpus.paths, output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)
    assert caught.value.path == str(path)
    assert "hint: " in str(caught.value)
    assert not (tmp_path / "out" / "manifest.json").exists()
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    shutil.copy2(kept, path)  # with its old time
    pack(corpus.paths, output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)
    pack(corpus.paths, output=tmp_path / "alone", tokenizer=tokenizer, **OPTIONS)
    assert digests(tmp_path / "out") == digests(tmp_path / "alone")


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("name", ["c.jsonl.gz", "d.jsonl.zst", "e.parquet"])
@pytest.mark.parametrize("cut", [True, False])
def test_damaged_in_the_middle(
    name: str,
    cut: bool,
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    corpus = dirty_corpus(tmp_path, documents=60)
    path = tmp_path / name
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        whole[: middle + 9] if cut else whole[:middle] + bytes(40) + whole[middle + 40 :]
    )
    with pytest.raises(InputError, match=name) as caught:
        pack(corpus.paths, output=tmp_path / "out", tokenizer=tokenizer, field="text", **OPTIONS)
    assert caught.value.path == str(path)
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.usefixtures("_small")
def test_input_that_changed_between_plan_and_resume(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = dirty_corpus(tmp_path, documents=60)
    with monkeypatch.context() as patch:
        patch.setattr(run, "write_documents", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            pack(corpus.paths, output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)
    with (tmp_path / "b1.jsonl").open("ab") as file:
        file.write(b'{"text": "more"}\n')
    with pytest.raises(PlanDiffers, match=r"b1\.jsonl size: \d+ in the output, \d+ now"):
        pack(corpus.paths, output=tmp_path / "out", tokenizer=tokenizer, **OPTIONS)


@pytest.mark.usefixtures("_small")
def test_inputs_that_are_no_files(tokenizer: Tokenizer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    options = {**OPTIONS, "output": tmp_path / "out", "tokenizer": tokenizer}
    with pytest.raises(InputError, match=r"pipe\.jsonl: not a regular file; hint: .*-"):
        pack(tmp_path / "pipe.jsonl", **options)
    with pytest.raises(SourceNotFound, match=r"gone\.jsonl"):
        pack(tmp_path / "gone.jsonl", **options)
    with pytest.raises(SourceNotFound, match="no file matches"):
        pack(str(tmp_path / "*.parquet"), **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("_small")
def test_special_token_in_text_is_found_in_its_file(
    dirty: Corpus, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    options = {**OPTIONS, "special_in_text": "raise", "workers": 1}
    with pytest.raises(SpecialTokenInText) as caught:
        pack(dirty.paths, output=tmp_path, tokenizer=tokenizer, **options)
    file, line = next(good[:2] for good in dirty.good if "</s>" in good[3])
    assert str(caught.value).startswith(f"{file}:{line}: ")


@pytest.mark.usefixtures("_small")
def test_folder_that_may_not_be_written(tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello"}\n')
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written: Not a directory"):
        pack(tmp_path / "a.jsonl", output=tmp_path / "file" / "out", tokenizer=tokenizer, **OPTIONS)

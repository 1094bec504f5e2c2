"""Every hint: the cause is made to happen, and the hint names it. A healthy run gets none."""

from __future__ import annotations

import bz2
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.advice.causes import forget, jsonl, noise, prose
from tests.advice.machines import advice_named, here, machine, names
from tests.load.test_vocab_files import write_world

from tokenmill import ReferencePathWarning, Tokenizer
from tokenmill._advice import tables
from tokenmill._advice.advise import ADVISERS
from tokenmill._mill.output.parts import PartWriter
from tokenmill._mill.plan import task
from tokenmill._read import ReadRules, records
from tokenmill._record.file import VARIABLE
from tokenmill._stats import RunStats, StageTotal, WordCounts
from tokenmill._tokenizer.recording import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokenmill._record.facts import RunFacts

# What a busy machine or disk does to every run.
OF_THE_MACHINE = {"crowded", "writing", "reading"}


def test_a_healthy_run_gets_none(
    folder: Path, recorded: Callable[..., RunFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many streams as a corpus of gigabytes has.
    monkeypatch.setattr(task, "ReadRules", partial(ReadRules, stream_bytes=1 << 20))
    text = jsonl([prose(3000, n) for n in range(1500)]) * 4
    files = [folder / f"{n}.jsonl" for n in range(here().cpu.threads)]
    for file in files:
        file.write_bytes(text)
    run = recorded(files)
    on = replace(here(), environment={})
    assert run.thread_seconds > 0.05
    assert names(run, on) - OF_THE_MACHINE == set(), run.stats.stages


def test_a_healthy_process_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer.load()
    texts = [prose(3000, n) for n in range(300)] * 20
    begin = time.perf_counter()
    tokenizer.encode_batch(texts, threads=1)
    run = facts_of(tokenizer.ready, time.perf_counter() - begin)
    assert names(run, replace(here(), environment={})) == set()


def test_one_compressed_file_for_several_workers(
    folder: Path, recorded: Callable[..., RunFacts]
) -> None:
    (folder / "a.jsonl.bz2").write_bytes(bz2.compress(jsonl([noise(3000, n) for n in range(900)])))
    advice = advice_named("few_compressed_files", recorded(folder / "a.jsonl.bz2", workers=3))
    assert "workers wait for the decompressor" in advice.measured
    assert ".bz2 is unpacked by one thread for each file, and one file must feed 3" in advice.cause
    assert (
        advice.change == "use .zst, which unpacks faster, or at least 3 large files, or plain JSONL"
    )


def test_files_that_take_long_to_unpack(
    folder: Path, recorded: Callable[..., RunFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small files are read one after another, large ones at the same time.
    monkeypatch.setattr(task, "ReadRules", partial(ReadRules, stream_bytes=1000))
    for number in range(2):
        text = jsonl([noise(3000, n) for n in range(700)])
        (folder / f"{number}.jsonl.bz2").write_bytes(bz2.compress(text))
    run = recorded([folder / "0.jsonl.bz2", folder / "1.jsonl.bz2"], workers=2)
    advice = advice_named("decompressing", run)
    assert "unpacking .bz2" in advice.measured
    assert "few_compressed_files" not in names(run)


def test_one_text_file_is_one_document(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.txt").write_text(prose(12_000_000))
    advice = advice_named("one_large_file", recorded(folder / "a.txt", workers=4))
    assert "--text-mode line" in advice.change


def test_too_few_blocks_for_the_workers(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(2500)]))
    advice = advice_named("one_large_file", recorded(folder / "a.jsonl", workers=4))
    assert "smaller than a block of 8 MiB for each worker" in advice.cause


def test_fewer_threads_than_cores(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(500)]) * 60)
    run = recorded(folder / "a.jsonl", workers=1)
    advice = advice_named("too_few_threads", run, machine(allowed_cores=8, quota=None))
    assert advice.measured.startswith("1 of 8 cores are used")
    assert "--workers" in advice.cause
    limited = replace(machine(allowed_cores=8), environment={"OMP_NUM_THREADS": "1"})
    assert advice_named("too_few_threads", run, limited).cause.startswith("OMP_NUM_THREADS=1")
    assert "too_few_threads" not in names(run, machine(allowed_cores=8, quota=0.5))
    assert "too_few_threads" not in names(run, machine(allowed_cores=1))


def test_more_threads_than_the_quota(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(500)]) * 10)
    run = recorded(folder / "a.jsonl", workers=4)
    advice = advice_named("too_many_threads", run, machine(allowed=16, quota=1.5))
    assert advice.measured == "4 threads run on 2 CPUs"
    assert "a quota of 1.5 CPUs" in advice.cause
    affinity = advice_named("too_many_threads", run, machine(allowed=2, quota=None))
    assert "affinity of the process allows 2 CPUs" in affinity.cause
    assert "too_many_threads" not in names(run, machine(allowed=4, quota=None))


def test_a_memory_limit_that_costs_workers(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(500)]) * 10)
    run = recorded(folder / "a.jsonl", workers=16, memory_limit="600MB")
    advice = advice_named("memory_limits_workers", run)
    assert advice.measured == f"{run.stats.threads} of 16 workers run"
    assert "600MB" in advice.cause
    assert "too_few_threads" not in names(run, machine(allowed_cores=64))


def calls(tokenizer: Tokenizer, texts: list[str]) -> RunFacts:
    before = facts_of(tokenizer.ready, 0.0).stats
    begin = time.perf_counter()
    tokenizer.encode_batch(texts, threads=1)
    run = facts_of(tokenizer.ready, time.perf_counter() - begin)
    return replace(run, stats=run.stats.since(before))


def test_tables_that_are_too_small() -> None:
    tokenizer = Tokenizer.load(tables="tiny")
    run = calls(tokenizer, [noise(3000, n % 100) for n in range(6000)])
    advice = advice_named("small_tables", run)
    assert "the word tables are tiny" in advice.cause
    assert advice.change == 'use tables="usual", 39 MB for each thread'
    tokenizer.release()


def test_cold_tables_and_unusual_text(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer.load()
    run = calls(tokenizer, [noise(3000, n) for n in range(2000)])
    assert "were empty" in advice_named("cold_tables", run).cause
    assert "unusual_text" not in names(run)
    monkeypatch.setattr(tables, "_COLD_BYTES", 1 << 20)  # 16 MB of it would take seconds
    assert "do not come back" in advice_named("unusual_text", run).cause
    assert "cold_tables" not in names(run)
    tokenizer.release()


def test_a_tokenizer_that_its_own_library_runs(tmp_path: Path) -> None:
    path = write_world(tmp_path)
    with pytest.warns(ReferencePathWarning):
        tokenizer = Tokenizer.load(path)
    advice = advice_named("reference_path", facts_of(tokenizer.ready, 1.0))
    assert "runs in its own library" in advice.measured
    assert advice.cause


def test_instructions_that_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    if len(here().cpu.targets) == 1:
        pytest.skip("this CPU has only one instruction set")
    monkeypatch.setenv("TOKENMILL_TARGET", "scalar")
    run = calls(Tokenizer.load(), [prose(3000)])
    advice = advice_named("slow_target", run)
    assert "its scalar code" in advice.measured
    assert advice.change == "unset TOKENMILL_TARGET"


def test_short_texts_one_at_a_time() -> None:
    tokenizer = Tokenizer.load(tables="small")  # a model of its own
    begin, count = time.perf_counter(), 40_000  # less text than lets the tables grow
    for _ in range(count):
        tokenizer.encode("hello world").tolist()
    run = facts_of(tokenizer.ready, time.perf_counter() - begin)
    # On a busy machine other processes are in the gap as well.
    run = replace(run, process_seconds=min(run.process_seconds, count * 8e-6))
    advice = advice_named("short_calls", run)
    assert "40,000 calls with 11 bytes each" in advice.measured
    assert "encode_batch" in advice.change


def test_a_device_that_is_not_there(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(500)]))
    run = recorded(folder / "a.jsonl", device="auto")
    if run.device != "cpu":
        pytest.skip("this machine has a GPU that is faster")
    advice = advice_named("device_fell_back", run)
    assert advice.measured == "--device auto: the CPU did all of the work"
    assert advice.cause == run.device_note


def test_a_slow_disk_for_the_output(
    folder: Path, recorded: Callable[..., RunFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, PartWriter, "add", 0.5)
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(500)]))
    advice = advice_named("writing", recorded(folder / "a.jsonl", workers=1))
    assert "MB/s a worker" in advice.measured


def test_a_slow_disk_for_the_input(
    folder: Path, recorded: Callable[..., RunFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, records.RecordReader, "read", 0.5)
    (folder / "a.jsonl").write_bytes(jsonl([prose(3000, n) for n in range(500)]))
    advice = advice_named("reading", recorded(folder / "a.jsonl", workers=1))
    assert "goes into reading" in advice.measured


def slowly(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, seconds: float) -> None:
    """Let a method take longer, without using the CPU."""
    method = getattr(owner, name)

    def slow(*given: Any, **options: Any) -> Any:
        time.sleep(seconds)
        return method(*given, **options)

    monkeypatch.setattr(owner, name, slow)


def test_a_crowd_of_other_processes(folder: Path, recorded: Callable[..., RunFacts]) -> None:
    (folder / "a.jsonl").write_bytes(jsonl([noise(3000, n) for n in range(2400)]))
    with crowd(6):
        run = recorded(folder / "a.jsonl", workers=1)
    assert "of CPU time" in advice_named("crowded", run).measured
    assert "crowded" not in names(replace(run, cpu_seconds=1.0, stats=stages(split=1.0)))


@contextmanager
def crowd(count: int) -> Iterator[None]:
    """Share one CPU with busy processes, which end by themselves if nobody ends them."""
    before = os.sched_getaffinity(0)
    cpu = min(before)
    code = f"import os, time; os.sched_setaffinity(0, {{{cpu}}}); end = time.time() + 60\n"
    code += "while time.time() < end: pass"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]  # noqa: S603
    try:
        time.sleep(0.3)  # until they are busy
        os.sched_setaffinity(0, {cpu})
        yield
    finally:
        os.sched_setaffinity(0, before)
        for other in others:
            other.kill()
            other.wait()


def stages(**seconds: float) -> RunStats:
    """Return counters of a run on one thread."""
    totals = {name: StageTotal(value, 1 << 20) for name, value in seconds.items()}
    return RunStats(sum(seconds.values()), 1, totals, WordCounts(1000, {"8_bytes": 1000}, 0, 0))


def test_every_adviser_is_tested_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    untested = [adviser.__name__ for adviser in ADVISERS if f'"{adviser.__name__}"' not in text]
    assert untested == []


def test_nothing_is_kept_for_the_end_of_this_process() -> None:
    forget()
    assert not os.environ.get(VARIABLE)

"""The stages of a run: they add up, name what was done, and change no byte."""

from __future__ import annotations

import gzip
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mill.outputs import digests

from tokenmill import Manifest, RunStats, pack
from tokenmill._mill.meter import Meter
from tokenmill._mill.pack import pack_task
from tokenmill._mill.plan.task import prepare_task
from tokenmill._read.timed_file import TimedFile
from tokenmill._stats import STAGES, StageTotal, WordCounts, mostly
from tokenmill._timeline import AWAY, Timeline, add_bytes, opened, stage

if TYPE_CHECKING:
    from pathlib import Path

    from tokenmill import Tokenizer

LINES = [json.dumps({"text": f"document {i} has words " * 40}) for i in range(4000)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of the same lines, one of them compressed."""
    folder = tmp_path_factory.mktemp("stats")
    data = ("\n".join(LINES) + "\n").encode()
    (folder / "a.jsonl").write_bytes(data)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(data, 1))
    return folder


def seconds_of(stats: RunStats) -> float:
    return sum(total.seconds for total in stats.stages.values())


def test_a_parquet_file_is_read_and_decompressed(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"text": [f"document {i} has words " * 40 for i in range(200)]})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", row_group_size=50)
    pause, reads, read = 0.02, [], TimedFile.read

    def slowly(self: TimedFile, size: int = -1) -> bytes:
        time.sleep(pause)
        self.seconds += pause
        reads.append(size)
        return read(self, size)

    monkeypatch.setattr(TimedFile, "read", slowly)
    given: dict[str, Any] = {"tokenizer": tokenizer, "context_length": 256}
    done = pack(tmp_path / "a.parquet", output=tmp_path / "out", workers=1, **given)
    assert done.stats is not None
    stages = done.stats.stages
    metadata = pq.ParquetFile(tmp_path / "a.parquet").metadata
    columns = [metadata.row_group(i).column(0).total_compressed_size for i in range(4)]
    assert stages["decompress"].bytes == sum(columns)
    assert stages["decompress"].seconds > 0
    assert stages["read"].bytes == (tmp_path / "a.parquet").stat().st_size
    assert len(reads) >= 4  # one for each row group, and those of the footer
    assert stages["read"].seconds >= pause * 4
    assert min(total.seconds for total in stages.values()) >= 0


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("strategy", ["concat", "bestfit"])
def test_the_stages_of_a_run_add_up(
    tokenizer: Tokenizer, inputs: Path, tmp_path: Path, workers: int, strategy: Any
) -> None:
    options: dict[str, Any] = {"tokenizer": tokenizer, "context_length": 256, "pack": strategy}
    done = pack([inputs], output=tmp_path / "out", workers=workers, **options)
    stats = done.stats
    assert stats is not None
    assert stats.threads == workers
    assert list(stats.stages) == [name for name in STAGES if name in stats.stages]
    assert seconds_of(stats) == pytest.approx(stats.wall_seconds * workers, rel=0.03)
    sizes = [path.stat().st_size for path in sorted(inputs.iterdir())]
    assert stats.stages["read"].bytes == sum(sizes)
    assert stats.stages["decompress"].bytes == sizes[1]
    assert stats.stages["parse"].bytes == 2 * sizes[0]
    assert stats.stages["write"].bytes > 2 * 2 * done.tokens["in"]  # parts, then shards
    text_bytes = 2 * sum(len(json.loads(line)["text"]) for line in LINES)
    assert stats.stages["split"].bytes == text_bytes
    assert stats.words.looked_up > 0
    assert stats.memory["word_tables"] > 0


def test_hardly_anything_is_left_unaccounted(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """What one worker and the thread that waits for it do is all there is."""
    shares = []
    (tmp_path / "long.jsonl").write_text("\n".join(LINES * 8), encoding="utf-8")
    for number in range(8):  # threads may start late on a busy machine
        task = prepare_task([tmp_path / "long.jsonl"], tokenizer=tokenizer, context_length=256)
        result = pack_task(task, output=tmp_path / str(number), workers=1)
        shares.append(sum(result.meter.stages.values()) / result.meter.seconds)
        if shares[-1] > 0.97:
            break
    assert 0.97 < max(shares) <= 1.001


def test_the_slowest_stage_is_named_in_words() -> None:
    assert mostly("wait_output") == "mostly waiting for output"
    assert mostly("") == ""
    assert len({mostly(name) for name in STAGES}) == len(STAGES)


def test_outputs_and_manifests_have_no_stats(
    tokenizer: Tokenizer, inputs: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        pack([inputs], output=tmp_path / name, tokenizer=tokenizer, context_length=128)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    loaded = Manifest.load(tmp_path / "a")
    assert loaded.stats is None
    assert "stats" not in loaded.data
    again = pack([inputs], output=tmp_path / "a", tokenizer=tokenizer, context_length=128)
    assert again == loaded
    assert again.stats is None  # nothing was done


def test_a_meter_can_be_read_while_workers_count() -> None:
    meter = Meter(threads=1)
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        with meter.worker(), stage("read"):
            begun.set()
            over.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(60)
    first = meter.stats()
    time.sleep(0.01)
    second = meter.stats()
    over.set()
    thread.join()
    assert isinstance(first, RunStats)
    assert second.stages["read"].seconds > first.stages["read"].seconds
    assert meter.bottleneck() == "read"


def test_time_belongs_to_the_innermost_stage() -> None:
    line = Timeline()
    with stage("read", 99):  # nobody counts here
        pass
    with opened(line):
        with stage("read"):
            with stage("decompress", 7):
                time.sleep(0.02)
            add_bytes("read", 3)
        with stage(AWAY):
            time.sleep(0.02)
    found = line.read()
    assert found["decompress"][0] >= 0.02
    assert found["decompress"][1] == 7
    assert found["read"][1] == 3
    assert found["read"][0] < found["decompress"][0]
    assert AWAY not in found


def test_a_call_of_the_core_takes_its_time_from_the_open_stage() -> None:
    meter = Meter()
    with meter.worker():
        time.sleep(0.02)
        meter.count({"split": StageTotal(0.02, 5)}, WordCounts(looked_up=4), threads=2)
    assert meter.stages["split"] == pytest.approx(0.01)
    assert meter.stages["other"] >= 0.009
    assert meter.stats().words.looked_up == 4
    assert meter.stats().stages["split"].bytes == 5

"""`tokenmill tune`: the sample, one trial, the file, and what the command says."""

from __future__ import annotations

import bz2
import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.advice.causes import jsonl, prose
from tests.advice.machines import here
from tests.machine.conftest import FakeMachine, machine
from tests.tune.simulated import Simulated, plain, space

from tokenmill import OptionError, TokenmillError
from tokenmill._bench.intervals import Interval
from tokenmill._cli import main
from tokenmill._cli import tune as tune_command
from tokenmill._cli._parser import CommandParser
from tokenmill._config import read_configuration
from tokenmill._machine.facts import describe_machine
from tokenmill._machine.gpus import Gpu, GpuFacts
from tokenmill._read import find_inputs
from tokenmill._tune import trial
from tokenmill._tune.sample import take_sample
from tokenmill._tune.search import SearchBudget
from tokenmill._tune.space import TuneSetting, space_of
from tokenmill._tune.trial import TrialRunner
from tokenmill._tune.tune import configuration_text, tune

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("optuna", reason="the extra `tune`")
__all__ = ["machine"]
TEXT = jsonl([prose(3000, n) for n in range(1000)])


def sample_of(paths: list[Path], size: int, folder: Path) -> Any:
    folder.mkdir()
    return take_sample(find_inputs(paths).files, size, folder)


def test_all_files_are_the_sample_if_they_are_small(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    paths[0].write_bytes(TEXT)
    paths[1].write_bytes(gzip.compress(TEXT))
    sample = sample_of(paths, 100 << 20, tmp_path / "cut")
    assert sample.paths == tuple(map(str, paths))
    assert sample.is_everything


@pytest.mark.parametrize(
    ("suffix", "pack", "unpack"),
    [("", bytes, bytes), (".gz", gzip.compress, gzip.decompress),
     (".bz2", bz2.compress, bz2.decompress)],
)  # fmt: skip
def test_long_files_are_cut_at_a_line_and_stay_compressed(
    tmp_path: Path,
    suffix: str,
    pack: Callable[[bytes], bytes],
    unpack: Callable[[bytes], bytes],
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack(TEXT))
    sample = sample_of([path], 1 << 20, tmp_path / "cut")
    (cut,) = sample.paths
    assert cut.endswith(path.name)
    text = unpack(Path(cut).read_bytes())
    assert TEXT.startswith(text)
    assert text.endswith(b"\n")
    assert (1 << 20) - 4000 < len(text) <= 1 << 20
    assert not sample.is_everything


def test_row_groups_of_parquet_are_the_cut(tmp_path: Path) -> None:
    table = pa.table({"text": [prose(3000, n) for n in range(1500)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100, compression="zstd")
    sample = sample_of([tmp_path / "a.parquet"], 1 << 20, tmp_path / "cut")
    found = pq.ParquetFile(sample.paths[0])
    assert found.read() == table.slice(0, found.metadata.num_rows)
    assert 0 < found.metadata.num_rows < 1500
    assert found.metadata.row_group(0).column(0).compression == "ZSTD"


def test_many_files_are_chosen_evenly(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n:02d}.jsonl" for n in range(40)]
    for path in paths:
        path.write_bytes(TEXT)
    sample = sample_of(paths, 16 << 20, tmp_path / "cut")
    assert len(sample.paths) == 16
    assert [Path(path).name[-8:] for path in sample.paths[:3]] == [
        "00.jsonl", "02.jsonl", "05.jsonl",
    ]  # fmt: skip


def test_inputs_that_are_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected files of this machine"):
        take_sample(find_inputs([pa.table({"text": ["a"]})]).files, 1, tmp_path)


def test_the_space_is_that_of_the_machine() -> None:
    six = replace(here(), cpu=replace(here().cpu, threads=6), gpu=None)
    six = replace(six, memory=replace(six.memory, left=64 << 30))
    found = space_of(six)
    assert found.choices["threads"] == (1, 2, 3, 4, 5, 6)
    assert found.default == TuneSetting(6, 8 << 20, "usual", "cpu")
    assert found.size == 6 * 6 * 3
    assert found.default in set(found.grid())
    small = replace(six, memory=replace(six.memory, left=1 << 30))
    assert max(space_of(small).choices["block_bytes"]) == 8 << 20
    gpu = replace(six, gpu=GpuFacts((Gpu("one"),), "1", "", ""))
    assert space_of(gpu).choices["device"] == ("cpu", "cuda")


def test_the_space_of_a_quota_of_one_core_has_one_thread(machine: FakeMachine) -> None:
    machine.write(membership="0::/job\n")
    machine.put("groups/job/cpu.max", "100000 100000\n")
    found = space_of(describe_machine(gpu=False))
    assert found.choices["threads"] == (1,)
    assert found.default.threads == 1


def test_a_trial_packs_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(TEXT)
    folder = tmp_path / "work"
    folder.mkdir()
    runner = TrialRunner([str(tmp_path / "a.jsonl"), "--context-length", "128"], folder)
    first = runner(TuneSetting(1, 1 << 20, "tiny", "cpu"))
    second = runner(TuneSetting(2, 8 << 20, "usual", "cpu"))
    assert first.seconds > 0
    assert second.memory_mb > 10
    assert runner.checksums
    assert [path.name for path in folder.iterdir()] == ["trial.toml"]


def test_a_setting_that_changed_the_output_would_stop_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(TEXT)
    runner = TrialRunner([str(tmp_path / "a.jsonl"), "--context-length", "128"], tmp_path)
    runner.checksums = ["another"]
    with pytest.raises(TokenmillError, match="this setting changed the output"):
        runner(TuneSetting(1, 1 << 20, "tiny", "cpu"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TokenmillError, match="exit status 1"):
        runner(TuneSetting(1, 1 << 20, "tiny", "cpu"))


def test_the_file_can_be_read_and_says_where_it_comes_from(tmp_path: Path) -> None:
    report = tune(space(16), Simulated(plain), SearchBudget(40, 1e9))
    ratio = Interval(1.25, 1.2, 1.3, 0.95)
    path = tmp_path / "tokenmill.toml"
    path.write_text(configuration_text(report.changes, ratio, here(), "tokenmill tune x"))
    config = read_configuration(path)
    for key, value in report.changes.items():
        assert getattr(config, key) == value
    assert "1.25 times as fast as the defaults (1.20 to 1.30)" in path.read_text()
    assert here().cpu.model in path.read_text()


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Let the command measure a formula instead of processes."""

    def use(truth: Callable[[TuneSetting], float]) -> None:
        measure = Simulated(truth)
        monkeypatch.setattr(trial, "TrialRunner", lambda *_: measure)
        monkeypatch.setattr("tokenmill._tune.space.space_of", lambda _: space(16))

    return use


def test_the_command_writes_what_is_faster(
    tmp_path: Path,
    simulated: Callable[[Any], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    simulated(plain)
    (tmp_path / "a.jsonl").write_bytes(TEXT)
    target = tmp_path / "tokenmill.toml"
    assert main(["tune", str(tmp_path / "a.jsonl"), "-o", str(target)]) == 0
    out, err = capsys.readouterr()
    assert read_configuration(target).threads is not None
    assert "chosen" in out
    assert "times as fast as the defaults" in out
    assert f"--config {target}" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "tokenmill.toml"]


def test_the_command_writes_nothing_within_the_noise(
    tmp_path: Path,
    simulated: Callable[[Any], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    simulated(lambda _: 1.0)
    (tmp_path / "a.jsonl").write_bytes(TEXT)
    target = tmp_path / "tokenmill.toml"
    assert main(["tune", str(tmp_path / "a.jsonl"), "-o", str(target), "--json"]) == 0
    out, err = capsys.readouterr()
    assert not target.exists()
    assert json.loads(out)["changes"] == {}
    assert "was not written: the defaults are right here" in err


@pytest.mark.parametrize("output", ["", "none/tokenmill.toml"])
def test_an_output_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "nothing.jsonl", "-o", str(tmp_path / output)]) == 2
    assert "expected a file in a folder that exists" in capsys.readouterr().err
    assert main(["tune", str(tmp_path / "nothing.jsonl")]) == 1


def test_options_are_passed_on_to_pack() -> None:
    parser = CommandParser()
    tune_command.register(parser.add_subparsers())
    options = parser.parse_args(["tune", "a", "-t", "x.json", "--field", "body"])
    assert tune_command._arguments(options) == [
        "--tokenizer", "x.json", "--field", "body", "--context-length", "2048",
    ]  # fmt: skip

"""Convert, reshard and merge are watched as `pack` is: heartbeat, status, metrics, counters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.finished import make, no_waiting, write_corpus

from tokenmill import Manifest, rewrite
from tokenmill._cli import main
from tokenmill._mill.meter import REWRITE, Meter
from tokenmill._mill.output.stored import stored_shards
from tokenmill._mill.rewrite import rewrite as rewrite_module
from tokenmill._mill.rewrite import shards as rewrite_shards
from tokenmill._mill.status import status
from tokenmill._mill.watch.heartbeat import HeartbeatFile
from tokenmill._mill.watch.outlook import Goals, seconds_left, share_done
from tokenmill._mill.watch.recent import Speeds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = {"context_length": 48, "tail": "pad", "format": "bin,parquet"}


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with no_waiting():
        yield


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, small_json: Path) -> Path:
    """An output that tests only read."""
    folder = tmp_path_factory.mktemp("packed")
    write_corpus(folder / "a.jsonl")
    make(folder / "a.jsonl", folder / "out", small_json, **ROWS)
    return folder / "out"


@pytest.fixture
def beats(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Keep every heartbeat of a rewrite."""
    heard: list[dict[str, Any]] = []

    class Kept(HeartbeatFile):
        def hear(self, beat: dict[str, Any]) -> None:
            super().hear(beat)
            heard.append(beat)

    monkeypatch.setattr(rewrite_module, "HeartbeatFile", Kept)
    return heard


def bytes_read(output: Path) -> int:
    """Return the size of the files that a rewrite reads rows from."""
    shards = stored_shards(Manifest.load(output))
    return sum(file["bytes"] for shard in shards for file in shard.formats["bin"]["files"])


@pytest.mark.parametrize("shard_tokens", [None, 200])
def test_the_last_heartbeat_has_everything(
    shard_tokens: int | None, packed: Path, tmp_path: Path, beats: list[dict[str, Any]]
) -> None:
    made = rewrite(packed, output=tmp_path / "new", shard_tokens=shard_tokens, workers=2)
    last = beats[-1]
    assert (last["state"], last["phase"], last["done"]) == ("finished", "rewrite", 1.0)
    assert last["output"] == str(tmp_path / "new")
    assert last["input_bytes"] == last["total_bytes"] == bytes_read(packed)
    assert last["documents"] == made.documents["out"]
    tokens = made.tokens["out"] - made.tokens["padding"]
    assert last["tokens"] == last["packed_tokens"] == tokens
    assert last["shards"] == last["total_shards"] == len(stored_shards(made))
    assert not (tmp_path / "new" / "_work").exists()


def test_counters_add_up(packed: Path, tmp_path: Path) -> None:
    stats = rewrite([packed], output=tmp_path / "new", workers=2).stats
    assert stats is not None
    assert stats.threads == 2
    spent = sum(total.seconds for total in stats.stages.values())
    assert spent == pytest.approx(stats.wall_seconds * 2, rel=0.03)
    assert all(stats.stages[name].seconds > 0 for name in ("read", "pack", "write"))
    assert stats.stages["read"].bytes == bytes_read(packed)
    assert stats.stages["write"].bytes > 0


def test_a_stopped_run_has_a_status_and_is_taken_up(
    packed: Path,
    tmp_path: Path,
    beats: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commit = rewrite_shards.Rewriting._commit
    done: list[Any] = []

    def stop(self: Any, *given: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(given)
        return commit(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(rewrite_shards.Rewriting, "_commit", stop)
        with pytest.raises(KeyboardInterrupt):
            rewrite(packed, output=tmp_path / "new", shard_tokens=200, workers=1)
    assert beats[-1]["state"] == "stopped"
    facts = status(tmp_path / "new")
    assert (facts["state"], facts["outputs"], facts["shards"]) == ("unfinished", 1, 1)
    assert facts["documents"] > 0
    assert facts["tokens"] > 0
    assert main(["status", str(tmp_path / "new")]) == 0
    shown = capsys.readouterr().out
    assert "of 1 output" in shown
    assert "stopped; run the same command again" in shown
    rewrite(packed, output=tmp_path / "new", shard_tokens=200, workers=1)
    last = beats[-1]
    assert last["input_bytes"] == last["total_bytes"]
    assert 0 < last["resumed_bytes"] < last["total_bytes"]
    assert last["shards"] == last["total_shards"]


def test_commands_write_metrics_and_counters(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["convert", str(packed), "-o", str(tmp_path / "new"), "--format", "parquet"]
    assert main([*given, "--metrics", str(tmp_path / "m.prom"), "--json", "--quiet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["stats"]["stages"]["write"]["seconds"] > 0
    lines = (tmp_path / "m.prom").read_text(encoding="utf-8").splitlines()
    assert any('phase="rewrite"' in line and line.endswith(" 1") for line in lines)
    assert any(line.startswith("tokenmill_pack_shards_total{") for line in lines)
    assert main([*given, "--json", "--quiet"]) == 0  # finished before: nothing was counted
    assert json.loads(capsys.readouterr().out)["stats"] is None


def test_time_left_needs_no_packing() -> None:
    meter, speeds = Meter(total_bytes=1000, phase=REWRITE), Speeds()
    meter.ended = meter.began + 10.0
    meter.add(input_bytes=250, tokens=60, packed_tokens=40)
    speeds.note(meter, {})
    assert share_done(meter, Goals()) == 0.25
    assert seconds_left(meter, speeds, Goals()) == pytest.approx(30.0)

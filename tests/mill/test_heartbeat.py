"""The heartbeat of a run, and those who listen to it: silence, clocks, kills."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.children import Order, run_child
from tests.mill.outputs import digests

from tokenmill import OutputError, pack
from tokenmill._mill.meter import Meter
from tokenmill._mill.output.process_facts import process_facts
from tokenmill._mill.output.work import HEARTBEAT, Work
from tokenmill._mill.run.run import Run
from tokenmill._mill.status import follow, has_died, status
from tokenmill._mill.watch import heartbeat as heartbeat_module
from tokenmill._mill.watch.beat import Pulse
from tokenmill._mill.watch.heartbeat import Heartbeat, HeartbeatFile, replace_file
from tokenmill._mill.watch.observer import Observer, in_words, read_heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.mill.corpus import Corpus


class Listening:
    """Keeps every heartbeat."""

    def __init__(self) -> None:
        self.beats: list[dict[str, Any]] = []

    def hear(self, beat: dict[str, Any]) -> None:
        self.beats.append(beat)


class Clocks:
    """Two clocks that only the test moves: that of the reader, and that of its machine."""

    def __init__(self, difference: float = 0.0) -> None:
        self.seconds = 1000.0
        self.difference = difference

    def monotonic(self) -> float:
        return self.seconds

    def time(self) -> float:
        return self.seconds + self.difference

    def observer(self, output: Path) -> Observer:
        return Observer(output, self.monotonic, self.time)


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """An output whose run has a plan."""
    work = Work(tmp_path / "out")
    work.folder.mkdir(parents=True)
    work.plan.write_text(json.dumps({"inputs": [{"size": 100}]}))
    return work.output


def put_beat(output: Path, number: int, written_at: float, **more: Any) -> None:
    """Write a heartbeat as a run on another machine would."""
    beat = Pulse(Meter(total_bytes=100)).beat()
    other = {"host": "elsewhere", "pid_space": "another machine", "beat": number}
    replace_file(
        Work(output).folder / HEARTBEAT,
        json.dumps({**beat, **other, "written_at": written_at, **more}).encode(),
    )


def test_a_run_tells_what_it_does_and_leaves_nothing(tmp_path: Path, small_json: Path) -> None:
    lines = [json.dumps({"text": f"document {number}"}) for number in range(50)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, "{"]))
    listening = Listening()
    file, heard = HeartbeatFile, []

    class Recorded(file):  # type: ignore[valid-type,misc]
        def hear(self, beat: dict[str, Any]) -> None:
            super().hear(beat)
            heard.append(read_heartbeat(tmp_path / "out"))
            listening.hear(beat)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heartbeat_module, "HeartbeatFile", Recorded)
        pack(tmp_path / "a.jsonl", output=tmp_path / "out", tokenizer=small_json, context_length=64)
    first, last = listening.beats[0], listening.beats[-1]
    assert heard[0] == first
    assert (last["state"], last["documents"], last["bad"]) == ("finished", 50, 1)
    assert last["bad_reasons"] == {"bad_json": 1}
    assert last["stages"]
    assert last["memory"]["resident"] > 0
    assert json.loads(json.dumps(last)) == last
    assert not (tmp_path / "out" / "_work").exists()


def test_shards_count_as_soon_as_they_are_made(
    tmp_path: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"text": f"document {number} " * 20}) for number in range(200)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    before_packing, listening, pack_phase = [], Listening(), Run._pack

    def begin_packing(self: Run, parts: Any) -> Any:
        before_packing.append(self.meter.shards)
        return pack_phase(self, parts)

    monkeypatch.setattr(Run, "_pack", begin_packing)
    monkeypatch.setattr("tokenmill._mill.pack.heartbeats_of", lambda _: [listening])
    made = pack(
        tmp_path / "a.jsonl",
        output=tmp_path / "out",
        tokenizer=small_json,
        context_length=64,
        shard_tokens=256,
    )
    last = listening.beats[-1]
    assert last["shards"] == last["total_shards"] == len(made.shards) > 10
    assert before_packing[0] > 0


def test_a_heartbeat_that_meets_the_end_of_the_run_leaves_nothing(started: Path) -> None:
    work = Work(started)
    file, pulse = HeartbeatFile(work), Pulse(Meter())
    file.hear(pulse.beat())
    work.plan.unlink()  # the run removes its folder; a beat comes in between
    replace_file(work.folder / HEARTBEAT, b"{}")
    file.hear(pulse.beat("finished"))
    assert not work.folder.exists()
    file.hear(pulse.beat())
    assert not work.folder.exists()


def test_a_beat_takes_the_place_of_the_last_one_on_every_system(
    started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def rename_of_windows(source: Path, target: Path) -> None:
        if target.exists():
            raise FileExistsError(target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", rename_of_windows)
    for number in (1, 2):
        replace_file(Work(started).folder / HEARTBEAT, b"%d" % number)
    assert (Work(started).folder / HEARTBEAT).read_bytes() == b"2"


def test_what_cannot_be_written_does_not_stop_the_run(
    tmp_path: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    monkeypatch.setattr(heartbeat_module, "replace_file", full)
    found = pack(tmp_path / "a.jsonl", output=tmp_path / "o", tokenizer=small_json, pack="none")
    assert found.documents["out"] == 1


def test_a_heart_that_fails_does_not_stop_the_run() -> None:
    class Broken:
        def hear(self, _beat: dict[str, Any]) -> None:
            raise ZeroDivisionError

    done = False
    with (
        pytest.warns(RuntimeWarning, match="no heartbeat: ZeroDivisionError"),
        Heartbeat(Pulse(Meter()), [Broken()]),
    ):
        done = True
    assert done


@pytest.mark.parametrize(
    ("error", "state"), [(KeyboardInterrupt(), "stopped"), (OutputError("disk full"), "failed")]
)
def test_the_last_beat_says_how_a_run_ended(
    started: Path, error: BaseException, state: str
) -> None:
    with (
        pytest.raises(type(error)),
        Heartbeat(Pulse(Meter()), [HeartbeatFile(Work(started))]),
    ):
        raise error
    run = status(started)["run"]
    assert run["state"] == state
    assert "run the same command again" in in_words(run)
    assert ("disk full" in in_words(run)) == (state == "failed")


@pytest.mark.parametrize("difference", [-3600.0, -20.0, 0.0, 20.0, 3600.0])
def test_clocks_of_machines_may_differ(started: Path, difference: float) -> None:
    """A run that beats is heard, whatever its clock says; a silent one is found out."""
    clocks = Clocks()
    watching = clocks.observer(started)
    for number in range(1, 6):
        put_beat(started, number, clocks.seconds + difference)
        run = watching.look()
        assert run is not None
        assert run["state"] in ("running", "listening" if number == 1 else "running")
        clocks.seconds += 1.0
    clocks.seconds += 35
    run = watching.look()
    assert run is not None
    assert (run["state"], run["heard_seconds_ago"]) == ("quiet", 36.0)
    assert "last heard from 36 s ago" in in_words(run)
    put_beat(started, 6, clocks.seconds + difference)
    assert (watching.look() or {})["state"] == "running"


def test_a_stale_heartbeat_is_not_believed(started: Path) -> None:
    """At the first look only clocks tell, so the reader waits for the next beat in vain."""
    clocks = Clocks()
    put_beat(started, 7, clocks.time() - 600)

    def sleep(seconds: float) -> None:
        clocks.seconds += seconds

    run = clocks.observer(started).listen(sleep)
    assert run is not None
    assert (run["state"], run["heard_seconds_ago"]) == ("quiet", pytest.approx(602.5, abs=1))


@pytest.mark.parametrize("ahead", [-5.0, 0.0, 3600.0])
def test_a_clock_that_is_ahead_does_not_keep_a_run_alive(started: Path, ahead: float) -> None:
    clocks = Clocks()
    put_beat(started, 7, clocks.time() + ahead)

    def sleep(seconds: float) -> None:
        clocks.seconds += seconds

    run = clocks.observer(started).listen(sleep)
    assert run is not None
    assert run["state"] == "quiet"
    assert clocks.seconds <= 1010.5  # it has waited ten seconds


def test_a_process_that_is_gone_has_died(started: Path) -> None:
    put_beat(started, 1, time.time(), **{**process_facts(), "process_start": 1})
    facts = status(started)
    assert facts["run"]["state"] == "died"
    assert has_died(facts)
    assert "is gone" in facts["words"]
    assert [each["run"]["state"] for each in follow(started, lambda: False)] == ["died"]


def test_a_broken_heartbeat_is_none(started: Path) -> None:
    (Work(started).folder / HEARTBEAT).write_bytes(b"{half")
    assert status(started)["run"] is None
    assert len(list(follow(started, lambda: False))) < 10


def test_ranks_that_beat_are_followed_without_a_heartbeat_file(started: Path) -> None:
    beats = Work(started).ranks / "beats"
    beats.mkdir(parents=True)
    looks = []

    def pause() -> bool:
        looks.append(1)
        said = {"rank": 0, "state": "tokenize", "looks": len(looks)}
        (beats / "owner.1").write_text(json.dumps(said))
        return len(looks) > 20  # a run without ranks is given up after six

    seen = list(follow(started, pause))
    assert len(seen) == 21
    assert seen[-1]["ranks"][0]["looks"] == 20


def test_a_watcher_sees_the_end(
    tmp_path: Path, small_json: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the beats of a run to its manifest, without a look that fails."""
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    seen: list[str] = []
    watching: Callable[[], None] = lambda: seen.append(  # noqa: E731
        next(follow(tmp_path / "out", lambda: True))["state"]
    )
    finish = Work.finish

    def watched(self: Work) -> None:
        watching()
        finish(self)
        watching()

    monkeypatch.setattr(Work, "finish", watched)
    pack(tmp_path / "a.jsonl", output=tmp_path / "out", tokenizer=small_json, pack="none")
    assert seen == ["finished", "finished"]


def test_killed_while_it_beats(dirty: Corpus, small_json: Path, tmp_path: Path) -> None:
    """Its last heartbeat stays and says so; the next run resumes, and writes the same bytes."""
    options = {"tokenizer": str(small_json), "workers": 2, "context_length": 64}

    def order(output: Path, **how: Any) -> Order:
        return Order(dirty.paths, {**options, "output": str(output)}, **how)

    whole = run_child(order(tmp_path / "whole"))
    killed = run_child(order(tmp_path / "killed", die_at=whole.steps // 2))
    assert killed.code == -signal.SIGKILL
    facts = status(tmp_path / "killed")
    assert facts["run"]["state"] == "died"
    assert "to resume" in facts["words"]
    assert run_child(order(tmp_path / "killed")).error is None
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")
    assert not (tmp_path / "killed" / "_work").exists()

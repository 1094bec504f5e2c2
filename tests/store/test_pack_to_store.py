"""An output in a bucket has the bytes of one in a folder, and nothing of it is ever half there."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.mill.ways import WAYS
from tests.store.packed import StorePacking, object_digests

from tokenmill import PackedDataset
from tokenmill._errors import OptionError, OutputInUse, PlanDiffers, SourceNotFound
from tokenmill._mill.output import store_lease
from tokenmill._mill.output.open_work import open_work
from tokenmill._mill.output.staged_work import StagedWork
from tokenmill._mill.output.store_folder import StoreFolder
from tokenmill._mill.output.store_lease import StoreLease
from tokenmill._mill.pack import pack
from tokenmill._mill.rewrite.rewrite import rewrite
from tokenmill._mill.status import status
from tokenmill._mill.verify.verify import verify
from tokenmill._mill.write import write_shards
from tokenmill._store import find, get_whole, put

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.mill.corpus import Corpus
    from tests.store.packed import Place


@pytest.mark.parametrize("way", WAYS)
def test_a_bucket_has_the_bytes_of_a_folder(way: str, dirty: Corpus, place: Place) -> None:
    made = StorePacking(way, dirty, place)
    made.check(made.run())


def kill_and_resume(made: StorePacking, kills: int, rng: random.Random) -> None:
    """Kill a run at random steps several times, then let it finish."""
    done = 0
    while done < kills:
        outcome = made.run({"die_at": rng.randint(1, made.alone.steps * 3 // kills)})
        if outcome.code == -signal.SIGKILL:
            done += 1
        else:  # it finished
            assert outcome.error is None
            made.forget()
    made.check(made.run())


@pytest.mark.parametrize("way", ["concat", "bestfit"])
def test_killed_at_steps_and_resumed(way: str, dirty: Corpus, place: Place) -> None:
    kill_and_resume(StorePacking(way, dirty, place), 3, random.Random(way))  # noqa: S311


@pytest.mark.slow
@pytest.mark.parametrize("way", ["concat", "bestfit", "documents"])
def test_killed_fifty_times(way: str, dirty: Corpus, place: Place) -> None:
    kill_and_resume(StorePacking(way, dirty, place), 50, random.Random(f"50 {way}"))  # noqa: S311


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": f"document {n} " * 9}) + "\n" for n in range(200)))
    return path


def pack_text(place: Place, text: Path, **options: Any) -> Any:
    given: dict[str, Any] = {
        "output": str(place.bucket / "out"),
        "work": place.folder / "work",
        "tokenizer": place.tokenizer,
        "context_length": 32,
        "shard_tokens": 2000,
        "workers": 1,
    }
    return pack([text], **{**given, **options})


def test_an_output_that_is_there_is_refused_or_left_alone(place: Place, text: Path) -> None:
    first = pack_text(place, text)
    assert first.where == str(place.bucket / "out")
    before = object_digests(place.bucket / "out")
    assert pack_text(place, text).plan_id == first.plan_id  # nothing to do
    with pytest.raises(PlanDiffers, match=r"context_length: 32 in the output, 16 now"):
        pack_text(place, text, context_length=16)
    assert object_digests(place.bucket / "out") == before
    forced = pack_text(place, text, context_length=16, force=True)
    assert forced.data["context_length"] == 16
    after = object_digests(place.bucket / "out")
    assert {shard["path"] for shard in forced.shards} <= set(after)
    alone = pack_text(place, text, context_length=16, output=place.folder / "alone", work=None)
    assert len(after) == sum(path.is_file() and path.name != ".lock"
                             for path in alone.folder.rglob("*"))  # fmt: skip


def test_what_is_written_can_be_read(place: Place, text: Path) -> None:
    made = pack_text(place, text)
    assert verify(made.where).ok
    rows = PackedDataset(made.where)
    alone = PackedDataset(pack_text(place, text, output=place.folder / "alone", work=None).folder)
    assert len(rows) == len(alone) > 9
    assert all((rows[n]["input_ids"] == alone[n]["input_ids"]).all() for n in range(len(rows)))


def test_objects_of_others_are_not_touched(place: Place, text: Path) -> None:
    put(place.bucket / "out" / "bin" / "mine", b"mine")
    with pytest.raises(OutputInUse, match="did not write"):
        pack_text(place, text)
    assert bytes(get_whole(place.bucket / "out" / "bin" / "mine")[0]) == b"mine"
    put(place.bucket / "other" / "notes.txt", b"mine")  # in no folder of ours
    pack_text(place, text, output=str(place.bucket / "other"))
    pack_text(place, text, output=str(place.bucket / "other"), force=True, context_length=16)
    assert find(place.bucket / "other" / "notes.txt") is not None


@contextmanager
def far_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let heartbeats in the block be those of another machine."""
    facts = {"pid": 1, "host": "elsewhere", "pid_space": "another machine", "process_start": 1}
    with monkeypatch.context() as patch:
        patch.setattr(store_lease, "process_facts", lambda: facts)
        yield


def test_a_run_that_lives_keeps_others_away(
    place: Place, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine by its process, and elsewhere by a heartbeat that moves."""
    monkeypatch.setattr(store_lease, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(store_lease, "LEASE_SECONDS", 0.2)
    work = open_work(str(place.bucket / "out"), place.folder / "elsewhere")
    assert isinstance(work, StagedWork)
    with work.locked(), pytest.raises(OutputInUse, match="another run is writing here"):
        pack_text(place, text)
    with far_away(monkeypatch), work.locked():
        tags = iter(range(1000))
        with monkeypatch.context() as patch:
            patch.setattr(StoreLease, "_tag_now", lambda _: str(next(tags)))  # it moves
            with pytest.raises(OutputInUse, match="another run is writing here"):
                pack_text(place, text)
        pack_text(place, text)  # silent for so long that it is taken for dead
        work.lease.tell({"state": "running"})
        with pytest.raises(OutputInUse, match="taken over"):
            work.deliver([])


def test_a_rank_is_refused_while_a_run_without_ranks_lives(
    place: Place, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = open_work(str(place.bucket / "out"), place.folder / "elsewhere")
    with far_away(monkeypatch), work.locked():
        tags = iter(range(1000))
        monkeypatch.setattr(store_lease, "_LOOK_SECONDS", 0.01)
        monkeypatch.setattr(StoreLease, "_tag_now", lambda _: str(next(tags)))
        with pytest.raises(OutputInUse):
            pack_text(place, text, rank=0, ranks=1)


def test_a_lease_is_not_lost_by_a_wrong_tag(place: Place) -> None:
    lease = StoreLease(StoreFolder(place.bucket), "out")
    lease.take()
    assert lease._held is not None
    lease._held = replace(lease._held, tag='"0123456789abcdef"')
    lease.tell({"state": "running"})
    lease.check()
    assert json.loads(bytes(get_whole(place.bucket / "heartbeat.json")[0]))["every_seconds"] == 10


def test_status_before_during_and_after(dirty: Corpus, place: Place) -> None:
    made = StorePacking("concat", dirty, place)
    with pytest.raises(SourceNotFound):
        status(str(made.address))
    killed = made.run({"die_at": made.alone.steps // 2})
    assert killed.code == -signal.SIGKILL
    facts = status(str(made.address))
    assert facts["state"] == "unfinished"
    assert facts["total_bytes"] > 0
    made.check(made.run())
    facts = status(str(made.address))
    assert facts["state"] == "finished"
    assert facts["shards"] > 0


def test_the_command_line(place: Place, text: Path) -> None:
    work = str(place.folder / "work")
    command = [
        sys.executable, "-m", "tokenmill", "pack", str(text), "-o", str(place.bucket / "cli"),
        "-t", str(place.tokenizer), "--context-length", "32", "--work", work,
    ]  # fmt: skip
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)  # noqa: S603
    facts = json.loads(told.stdout)
    assert facts["output"] == str(place.bucket / "cli")
    kinds = facts["requests"]["by_kind"]
    assert kinds["put"] >= 5  # a shard, its index, two tables, the manifest
    assert facts["requests"]["bytes_out"] > 0
    again = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert f"{place.bucket / 'cli'} is already finished" in again.stderr


def test_plan_counts_requests(place: Place, text: Path) -> None:
    command = [
        sys.executable, "-m", "tokenmill", "plan", str(text), "-t", str(place.tokenizer),
        "--context-length", "32", "--shard-tokens", "2000",
    ]  # fmt: skip
    work = place.folder / "work"
    told = {}
    for name, more in {
        "store": ["-o", str(place.bucket / "p"), "--work", str(work)],
        "folder": ["-o", str(place.folder / "p")],
    }.items():
        asked = [*command, *more, "--json"]
        run = subprocess.run(asked, capture_output=True, text=True, check=True)  # noqa: S603
        told[name] = json.loads(run.stdout)
    assert told["folder"]["put_requests"] == 0
    made = pack_text(place, text, output=str(place.bucket / "p"))
    files = 2 * len(made.shards) + 4  # with indexes, tables, plan and manifest
    assert told["store"]["put_requests"] == pytest.approx(files, rel=0.3)
    shown = subprocess.run(  # noqa: S603
        [*command, "-o", str(place.bucket / "p"), "--work", str(work)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "requests to write it" in shown.stdout


def test_options_that_are_wrong(place: Place, text: Path) -> None:
    with pytest.raises(OptionError, match="web server"):
        pack_text(place, text, output="https://example.com/out")
    with pytest.raises(OptionError, match="work"):
        pack_text(place, text, output=place.folder / "out")
    with pytest.raises(OptionError, match="bucket"):
        pack_text(place, text, output="s3://")


def test_only_pack_writes_to_stores(place: Place, text: Path) -> None:
    made = pack_text(place, text, output=place.folder / "out", work=None)
    for wrong in (
        lambda: rewrite(made.folder, output="s3://bucket/out", format="npy"),
        lambda: write_shards("s3://bucket/out", []),
    ):
        with pytest.raises(OptionError, match="only `pack` writes to object stores"):
            wrong()


def test_uploads_count_for_the_memory_limit(place: Place, text: Path) -> None:
    folder = place.folder / "out"
    pack_text(place, text, memory_limit="350MB", output=folder, work=None)
    with pytest.raises(OptionError, match="memory_limit: one worker needs about"):
        pack_text(place, text, memory_limit="350MB")


def test_the_default_work_folder_is_in_the_cache(
    place: Place, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENMILL_CACHE", str(place.folder / "cache"))
    folder = open_work(str(place.bucket / "out")).output
    assert folder.parent == place.folder / "cache" / "work"
    assert folder != open_work(str(place.bucket / "out2")).output
    pack_text(place, text, work=None)
    assert not folder.exists()
    monkeypatch.setenv("TOKENMILL_CACHE", "off")
    with pytest.raises(OptionError, match="work="):
        pack_text(place, text, work=None)
    done = pack_text(place, text)  # nothing to do
    assert done.where == str(place.bucket / "out")
